"""`python -m httpx_recover`."""

from httpx_recover._cli import main

raise SystemExit(main())
