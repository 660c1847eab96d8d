import { createServer } from 'node:net'

/** Lower than the ports that systems give to clients, and to servers that request any port. */
const FIRST = 20_000
const COUNT = 12_000

/**
 * Returns a port of 127.0.0.1 on which nothing listens. Other processes do not get it by chance before the caller uses it,
 * nor while a server on it is restarted.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const server = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
