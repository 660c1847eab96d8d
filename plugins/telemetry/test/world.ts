import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer, globalAgent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import database from '@svc/plugin-database'
import type { Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'

const CERTIFICATES = join(import.meta.dirname, '..', '..', 'a2a-server', 'test', 'fixtures')

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: any
}

/** HTTPS server that receives payloads. A status of 0 leaves the request without an answer. */
export interface Receiver {
  readonly url: string
  readonly received: Received[]
  readonly statuses: number[]
  /** Called before a request is answered. */
  onRequest: () => void
}

export async function openReceiver(t: Test): Promise<Receiver> {
  const received: Received[] = []
  const statuses: number[] = []
  const cert = readFileSync(join(CERTIFICATES, 'receiver-cert.pem'))
  const server = createServer(
    { key: readFileSync(join(CERTIFICATES, 'receiver-key.pem')), cert },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => {
        received.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
        receiver.onRequest()
        const status = statuses.shift() ?? 200
        if (status === -1) request.socket.destroy()
        else if (status !== 0) response.writeHead(status, { location: 'https://127.0.0.1:1/' }).end('x'.repeat(100_000))
      })
    }
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { ca } = globalAgent.options
  globalAgent.options.ca = cert
  t.teardown(() => {
    globalAgent.options.ca = ca
    globalAgent.destroy()
    server.closeAllConnections()
    server.close()
  })
  const receiver: Receiver = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/ingest`,
    received,
    statuses,
    onRequest: () => {}
  }
  return receiver
}

/** Opens telemetry with a database in the project folder of the test. */
export async function openTelemetry(
  t: Test,
  settings: object = {},
  plugins: readonly Plugin[] = []
): Promise<TestKernel> {
  const kernel = await testKernel([database as Plugin, ...plugins, plugin as Plugin], {
    settings: { database: { path: 'test.db' }, telemetry: settings }
  })
  t.teardown(() => kernel.close())
  return kernel
}
