import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Answer to one request instead of the file. Returns true if it has answered. */
export type Fault = (request: IncomingMessage, response: ServerResponse, content: Buffer) => boolean

export interface Hub {
  readonly url: URL
  /** Files of the repository `org/model`, by name. */
  readonly files: Map<string, Buffer>
  /** Sizes that the list of files has instead of the true ones, by name. */
  readonly sizes: Map<string, number>
  /** Content of the model `library/tiny:latest` in the registry. */
  layer: Buffer
  /** Other layers of that model: type and content. */
  readonly extraLayers: (readonly [type: string, content: Buffer])[]
  /** Manifest of that model; null: of the layers. */
  manifest: object | null
  /** Faults for the next requests of files, in order; null for none. */
  readonly faults: (Fault | null)[]
  /** Requests of files: path, `Range` and `Authorization`. */
  readonly requests: { readonly path: string; readonly range: string | undefined; readonly auth: string | undefined }[]
  /** Base URL to which requests of files are redirected; null to send them. */
  redirect: URL | null
}

/** Starts a server with the APIs of Hugging Face and the Ollama registry, until the test ends. */
export async function openHub(t: Test): Promise<Hub> {
  const hub: Omit<Hub, 'url'> & { url: URL } = {
    url: new URL('http://127.0.0.1'),
    files: new Map(),
    sizes: new Map(),
    layer: Buffer.alloc(0),
    extraLayers: [],
    manifest: null,
    faults: [],
    requests: [],
    redirect: null
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', hub.url)
    if (pathname === '/api/models/org/model/revision/main') return json(response, listing(hub))
    if (pathname === '/v2/library/tiny/manifests/latest') return json(response, hub.manifest ?? manifest(hub))
    const { range, authorization: auth } = request.headers
    const file =
      /^\/org\/model\/resolve\/[0-9a-f]{40}\/(.*)$/.exec(pathname)?.[1] ?? /^\/cdn\/(.*)$/.exec(pathname)?.[1]
    const digest = /^\/v2\/library\/tiny\/blobs\/(.*)$/.exec(pathname)?.[1]
    const layer = [hub.layer, ...hub.extraLayers.map(([, each]) => each)].find(each => sha256(each) === digest)
    const content = digest === undefined ? hub.files.get(decodeURIComponent(file ?? '')) : layer
    if (content === undefined) return void response.writeHead(404).end()
    hub.requests.push({ path: pathname, range, auth })
    if (hub.redirect !== null && !pathname.startsWith('/cdn/')) {
      return void response.writeHead(302, { location: new URL(`/cdn/${file}`, hub.redirect).href }).end()
    }
    if (hub.faults.shift()?.(request, response, content) === true) return
    send(response, content, range)
  })
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  hub.url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return hub
}

/** Sends a file, or the part that the header `Range` names. */
export function send(response: ServerResponse, content: Buffer, range: string | undefined): void {
  const etag = `"${sha256(content)}"`
  const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
  if (start > 0 && start >= content.length) {
    return void response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end()
  }
  const part = content.subarray(start)
  const headers = { etag, 'content-length': part.length }
  if (start === 0) response.writeHead(200, headers)
  else {
    response.writeHead(206, { ...headers, 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` })
  }
  response.end(part)
}

/** Fault that sends the first bytes of the answer, and drops the connection once the client has them. */
export const dropAfter =
  (bytes: number, arrived: () => boolean): Fault =>
  (request, response, content) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const etag = `"${sha256(content)}"`
    const range = start === 0 ? {} : { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` }
    response.writeHead(start === 0 ? 200 : 206, { etag, 'content-length': content.length - start, ...range })
    response.write(content.subarray(start, start + bytes))
    const timer = setInterval(() => {
      if (!arrived()) return
      clearInterval(timer)
      response.destroy()
    }, 5)
    return true
  }

/** Fault that answers with a status. */
export const answer =
  (status: number, headers: Readonly<Record<string, string>> = {}): Fault =>
  (_request, response) => {
    response.writeHead(status, headers).end()
    return true
  }

/** Fault that sends the first bytes, then nothing more. */
export const hangAfter =
  (bytes: number): Fault =>
  (_request, response, content) => {
    response.writeHead(200, { etag: `"${sha256(content)}"`, 'content-length': content.length })
    response.write(content.subarray(0, bytes))
    return true
  }

export function sha256(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

function listing({ files, sizes }: Pick<Hub, 'files' | 'sizes'>): object {
  const siblings = [...files].map(([rfilename, content]) => {
    const isLarge = /\.(safetensors|gguf)$/.test(rfilename)
    const blob = createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
    const size = sizes.get(rfilename) ?? content.length
    const lfs = { sha256: sha256(content).slice('sha256:'.length), size }
    return { rfilename, size, blobId: blob, ...(isLarge ? { lfs } : {}) }
  })
  return { id: 'org/model', sha: 'c'.repeat(40), siblings }
}

function manifest({ layer, extraLayers }: Pick<Hub, 'layer' | 'extraLayers'>): object {
  const entry = (type: string, content: Buffer) => ({
    mediaType: `application/vnd.ollama.image.${type}`,
    digest: sha256(content),
    size: content.length
  })
  return { schemaVersion: 2, layers: [entry('model', layer), ...extraLayers.map(([type, each]) => entry(type, each))] }
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
