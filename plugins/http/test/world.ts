import { connect } from 'node:net'
import { type HttpAddress, type HttpServer, httpServer } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import http from '#plugin'

/** The real kernel with the real http plugin on a free port. */
export interface World {
  readonly kernel: TestKernel
  readonly addresses: readonly HttpAddress[]
  url(path: string, listener?: string): string
  port(listener?: string): number
  /** Replaces the http plugin by a new instance of itself. */
  reloadHttp(): Promise<void>
  close(): Promise<void>
}

export async function openWorld(
  plugins: readonly Plugin[],
  settings: object = {},
  services: NonNullable<Parameters<typeof testKernel>[1]>['services'] = []
): Promise<World> {
  let server: { readonly current: HttpServer } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer) },
    activate(_ctx, deps) {
      server = deps.server
    }
  })
  const kernel = await testKernel([http as Plugin, probe, ...plugins], {
    services,
    settings: { http: { port: 0, drain_ms: 2_000, ...settings } }
  })
  const find = (listener = 'main'): HttpAddress => {
    const address = world.addresses.find(each => each.listener === listener)
    if (address === undefined) throw new Error(`the listener ${listener} does not exist`)
    return address
  }
  const world: World = {
    kernel,
    get addresses() {
      return (server as { readonly current: HttpServer }).current.addresses
    },
    url: (path, listener) => find(listener).url + path,
    port: listener => find(listener).port,
    reloadHttp: () => kernel.replace(definePlugin({ ...http }) as Plugin),
    close: () => kernel.close()
  }
  return world
}

/** Sends raw bytes and returns all received bytes until the server closes the connection. */
export function sendBytes(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('utf8').on('data', chunk => {
      received += chunk
    })
    socket.on('error', reject).on('close', () => resolve(received))
    for (const part of parts) socket.write(part)
  })
}

/** Sends a request with these header lines and body on a separate connection. */
export function sendRequest(
  port: number,
  start: string,
  headers: readonly string[] = [],
  body: string | Buffer = ''
): Promise<string> {
  const length = body.length > 0 ? [`content-length: ${Buffer.byteLength(body)}`] : []
  const lines = [`${start} HTTP/1.1`, 'host: localhost', 'connection: close', ...headers, ...length]
  return sendBytes(port, `${lines.join('\r\n')}\r\n\r\n`, body)
}

export interface Envelope {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly hint?: string
    readonly data?: unknown
    readonly request_id: string
  }
}

/** Parses the text of a response. */
export function parseResponse(text: string): { status: number; head: string; body: string } {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body: rest.join('\r\n\r\n') }
}

/** Returns a promise with the function that resolves it. */
export function gate<A = void>(): { readonly opened: Promise<A>; open(value: A): void } {
  let open: (value: A) => void = () => {}
  const opened = new Promise<A>(resolve => {
    open = resolve
  })
  return { opened, open }
}
