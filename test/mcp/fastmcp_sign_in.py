"""fastmcp's client, as an agent uses it: finds out where to sign in, registers, gets a token, and calls a tool.

    python fastmcp_sign_in.py URL           prints the tools, and what the tool test_simple_text says
    python fastmcp_sign_in.py --browser URL is the browser in which a person signs in
"""

import asyncio
import os
import sys
import time
import urllib.error
import urllib.request


def browse(url: str) -> None:
    """Follows the redirect to the client, which begins to listen after it has started the browser."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url) as response:
                response.read()
            return
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:
            time.sleep(0.1)
    sys.exit("nobody listens for the code")


async def call(url: str) -> None:
    from fastmcp import Client

    async with Client(url, auth="oauth") as client:
        tools = await client.list_tools()
        print(" ".join(tool.name for tool in tools))
        result = await client.call_tool("test_simple_text", {})
        print(result.content[0].text)


if sys.argv[1] == "--browser":
    browse(sys.argv[2])
else:
    os.environ["BROWSER"] = f"{sys.executable} {os.path.abspath(__file__)} --browser %s &"
    asyncio.run(call(sys.argv[1]))
