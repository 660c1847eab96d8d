import { createHash, type KeyObject } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { Header, type HeaderData } from 'tar'
import { signatureOf } from '#root'

/** Entry of a tar file. A text makes it a file, unless `type` says otherwise. */
export interface Entry extends Pick<HeaderData, 'type' | 'linkpath' | 'mode'> {
  readonly path: string
  readonly text?: string
  /** Size in the header, if it is not that of the text. */
  readonly size?: number
}

/** Returns a tar file. Unlike `tar`, it accepts any path and type. */
export function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, text = '', type = 'File', linkpath, mode = 0o644, size }) => {
    const body = Buffer.from(text)
    const header = Buffer.alloc(512)
    new Header({
      path,
      type,
      mode,
      size: size ?? body.length,
      mtime: new Date(0),
      ...(linkpath === undefined ? {} : { linkpath })
    }).encode(header)
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1_024)])
}

/** Returns the archive of a version whose program prints its version. */
export function archiveOf(version: string, more: readonly Entry[] = []): Buffer {
  const root = `svc-${version}`
  const facts = { version, node: '>=20', dependencies: 'bundled' }
  return gzipSync(
    tarOf([
      { path: `${root}/`, type: 'Directory', mode: 0o755 },
      { path: `${root}/release.json`, text: JSON.stringify(facts) },
      { path: `${root}/bin/svc.cjs`, text: `console.log(require('../release.json').version)\n`, mode: 0o755 },
      ...more
    ])
  )
}

export function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex')
}

export interface Release {
  readonly tag: string
  readonly prerelease?: boolean
  readonly files: Readonly<Record<string, Buffer | string>>
}

/** Returns a release with the portable archive and its checksums. */
export function releaseOf(version: string, files: Readonly<Record<string, Buffer | string>> = {}): Release {
  const tag = `v${version}`
  const all = { [`svc-${tag}.tgz`]: archiveOf(version), ...files }
  const sums = Object.entries(all).map(([name, content]) => `${sha256(content)}  ./dist/${name}\n`)
  return { tag, files: { 'checksums.txt': sums.join(''), ...all } }
}

/** Returns the release with a signature of its checksums. */
export function signed(release: Release, privateKey: KeyObject): Release {
  const signature = signatureOf(String(release.files['checksums.txt']), privateKey)
  return { ...release, files: { ...release.files, 'checksums.txt.sig': signature } }
}

export interface ReleaseServer {
  readonly url: string
  /** Server in the addresses of files: this one or another. */
  fileRoot: string
  readonly releases: Release[]
  /** Requests, as path and headers. */
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[]
  /** Answers a request instead of the server; returns false to leave it to the server. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** Serves releases in the forms of GitHub, GitLab and plain HTTP. */
export async function openReleases(t: Test, releases: readonly Release[]): Promise<ReleaseServer> {
  const server: Server = createServer((request, response) => {
    const path = request.url ?? ''
    world.requests.push({ path, headers: request.headers })
    if (world.intercept(request, response)) return
    const [, tag = '', name = ''] = /^\/(?:files|download)\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    const file = world.releases.find(each => each.tag === tag)?.files[name]
    const api = apiAnswer(path, world)
    if (file !== undefined) response.end(file)
    else if (api !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(api))
    else response.writeHead(404).end('{"message": "Not Found"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const world: ReleaseServer = {
    url,
    fileRoot: url,
    releases: [...releases],
    requests: [],
    intercept: () => false
  }
  return world
}

function apiAnswer(path: string, { fileRoot, releases }: ReleaseServer): unknown {
  const github = ({ tag, prerelease = false, files }: Release) => ({
    tag_name: tag,
    draft: false,
    prerelease,
    assets: Object.keys(files).map(name => ({ name, url: `${fileRoot}/files/${tag}/${name}` }))
  })
  const gitlab = ({ tag, files }: Release) => ({
    tag_name: tag,
    assets: { links: Object.keys(files).map(name => ({ name, direct_asset_url: `${fileRoot}/files/${tag}/${name}` })) }
  })
  if (path.startsWith('/repos/acme/svc/releases?')) return releases.map(github)
  if (path.startsWith('/api/v4/projects/acme%2Fsvc/releases?')) return releases.map(gitlab)
  const [, api, tag] =
    /^\/(repos\/acme\/svc\/releases\/tags|api\/v4\/projects\/acme%2Fsvc\/releases)\/([^/]+)$/.exec(path) ?? []
  const found = releases.find(each => each.tag === tag)
  if (found === undefined) return undefined
  return api?.startsWith('repos') === true ? github(found) : gitlab(found)
}
