"""What all tests share."""

import asyncio

# pytest-asyncio asks for the present loop before its first test, gets one made, and never closes it; told that there is
# none, it makes none.
asyncio.set_event_loop(None)
