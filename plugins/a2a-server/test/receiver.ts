import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'

const FIXTURES = join(import.meta.dirname, 'fixtures')
/** Certificate of the receiver: for localhost, 127.0.0.1 and hooks.example; signed by itself. */
export const CERTIFICATE = join(FIXTURES, 'receiver-cert.pem')

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: any
  readonly status: number
}

/** Server of webhooks. Answers with the statuses in `answers` in turn, then with 200. */
export interface Receiver {
  readonly port: number
  readonly url: string
  readonly received: Received[]
  readonly answers: number[]
}

export async function openReceiver(t: Test): Promise<Receiver> {
  const received: Received[] = []
  const answers: number[] = []
  const server = createServer(
    { key: readFileSync(join(FIXTURES, 'receiver-key.pem')), cert: readFileSync(CERTIFICATE) },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => {
        const status = answers.shift() ?? 200
        received.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()), status })
        response
          .writeHead(status, status === 302 ? { location: 'https://127.0.0.1/elsewhere' } : {})
          .end('x'.repeat(100_000))
      })
    }
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `https://127.0.0.1:${port}/hook`, received, answers }
}
