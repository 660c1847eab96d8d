import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CommandDescriptor, type CommandHandler, t, waitForAbort } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import type { SkillStore } from '../skills/store.ts'
import { skillRoutes } from './routes.ts'

export const serveCommand: CommandDescriptor = {
  command: 'openclaw serve',
  summary: 'Serve the approved skills to other clients over HTTP until Ctrl-C',
  input: t.object({
    port: t.integer({ default: 3850, minimum: 0, maximum: 65_535, description: 'Port on 127.0.0.1; 0: any free port.' })
  })
}

export interface ServeParts {
  readonly store: () => Promise<SkillStore>
  /** Token that clients must send; undefined: no token is required. */
  readonly token: string | undefined
}

/** Returns the handler of `svc openclaw serve`. Throws `SKG_SERVE_FAILED` if the port is in use. */
export function serveSkills({ store, token }: ServeParts): CommandHandler {
  return async ({ port }, io) => {
    const server = createServer({ requestTimeout: 10_000 }, skillRoutes(await store(), token))
    server.maxConnections = 256
    const failed = once(server, 'error').then(([error]) => error as Error)
    server.listen(Number(port), '127.0.0.1')
    const error = await Promise.race([once(server, 'listening').then(() => null), failed])
    if (error !== null)
      throw openclawErrors.create('SKG_SERVE_FAILED', `port ${port} of 127.0.0.1: ${error.message}`, {
        hint: 'choose another port: svc openclaw serve --port 3851',
        cause: error
      })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    io.stdout.write(io.json ? `${JSON.stringify({ url })}\n` : `Approved skills: ${url}/v1/skills. Ctrl-C ends this.\n`)
    await waitForAbort(io.signal)
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    return 0
  }
}
