import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { hostName, isLoopback } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { SkillRecord } from '../skills/record.ts'
import { assertRunnable } from '../skills/runner.ts'
import type { SkillStore } from '../skills/store.ts'

/** Seconds for which clients may cache the well-known document. */
const TTL_SECONDS = 300

interface Reply {
  readonly status: number
  readonly body: unknown
  /** Content type; default JSON. */
  readonly type?: string
}

/**
 * Returns the HTTP API of a skills gateway for the approved skills of a store. It only reads: skills cannot be published
 * or run. Requests of other hosts, of web pages and without the token are refused.
 */
export function skillRoutes(store: SkillStore, token: string | undefined): RequestListener {
  return (request, response) => {
    respond(store, token, request)
      .catch((): Reply => ({ status: 500, body: { error: 'the installed skills cannot be read' } }))
      .then(reply => send(response, reply, request.method === 'HEAD'))
  }
}

async function respond(store: SkillStore, token: string | undefined, request: IncomingMessage): Promise<Reply> {
  const { method, headers } = request
  request.resume()
  // A web page could reach this port by a name that resolves to 127.0.0.1.
  if (headers.origin !== undefined || !isLoopback(hostName(headers.host ?? '')))
    return { status: 403, body: { error: 'only programs of this machine may send requests' } }
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: { error: 'only GET is supported' } }
  const base = `http://${headers.host}`
  if (!URL.canParse(request.url ?? '/', base)) return { status: 400, body: { error: 'the URL cannot be parsed' } }
  const { pathname, searchParams } = new URL(request.url ?? '/', base)
  if (pathname === '/.well-known/openclaw.json') return { status: 200, body: wellKnown(base) }
  if (token !== undefined && !isToken(headers.authorization, token))
    return { status: 401, body: { error: 'the bearer token is missing or wrong' } }
  if (pathname === '/v1/skills') return { status: 200, body: { skills: (await approved(store)).map(summaryOf) } }
  if (pathname === '/v1/skills/search') {
    const wanted = (searchParams.get('q') ?? '').toLowerCase()
    const found = (await approved(store)).filter(each =>
      `${each.slug}\n${each.name}\n${each.description}`.toLowerCase().includes(wanted)
    )
    return { status: 200, body: { skills: found.map(summaryOf) } }
  }
  return skillReply(store, pathname)
}

async function skillReply(store: SkillStore, pathname: string): Promise<Reply> {
  const missing = { status: 404, body: { error: 'no approved skill has this path' } }
  const path = /^\/v1\/skills\/(.+)$/.exec(pathname)?.[1]
  if (path === undefined) return missing
  const isText = path.endsWith('/skill.md')
  try {
    const slug = decodeURIComponent(isText ? path.slice(0, -'/skill.md'.length) : path)
    const record = await store.get(slug)
    assertRunnable(record)
    const text = await store.text(record)
    if (isText) return { status: 200, body: text, type: 'text/markdown; charset=utf-8' }
    const { namespace, author, content_hash, kind, secrets } = record
    const metadata = { kind, secrets }
    return {
      status: 200,
      body: { id: slug, namespace, ...summaryOf(record), content_hash, author, metadata, skill_md: text }
    }
  } catch (error) {
    // An unapproved skill looks like a missing one.
    if (error instanceof URIError || (isSvcError(error) && !isSvcError(error, 'SKG_STORE_FAILED'))) return missing
    throw error
  }
}

async function approved(store: SkillStore): Promise<readonly SkillRecord[]> {
  return (await store.list()).filter(({ approval, trust }) => approval === 'approved' && trust === 'community')
}

function summaryOf({ slug, version, description }: SkillRecord): object {
  return { name: slug, slug, version, description }
}

function wellKnown(base: string): object {
  return {
    schemaVersion: 1,
    gateway: { httpUrl: base },
    catalog: { listUrl: `${base}/v1/skills`, searchUrl: `${base}/v1/skills/search` },
    cacheTtlSeconds: TTL_SECONDS
  }
}

/** Compares in constant time. */
function isToken(authorization: string | undefined, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function send(response: ServerResponse, { status, body, type = 'application/json' }: Reply, isHead: boolean): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store'
  })
  response.end(isHead ? undefined : text)
}
