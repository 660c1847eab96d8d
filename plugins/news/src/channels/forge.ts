import {
  type ChannelContext,
  type ChannelReceipt,
  type NewsChannel,
  type NewsPost,
  type RemoteAnswer,
  RemoteFailure,
  type RemoteRequest
} from '@svc/contracts'
import { ChannelCredentials } from '../credentials/credentials.ts'
import { forgeSecrets } from '../settings/forge.ts'
import { cutText } from '../text/cut.ts'
import { codeUnits } from '../text/meters.ts'
import { addressOf, answerIncomplete, fieldAt, textAt } from './answer.ts'
import { channelText, summaryWithLink } from './derived-text.ts'
import { findEarlierPost, outcomeUnknown, sendingNow } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'
import { rateLimited } from './rate-limit.ts'

const SERVICE = 'the forge'
const TITLE = codeUnits(256)
/** GitHub refuses issues and comments with more; releases may have 125,000, and other forges no limit. */
const BODY = codeUnits(65_536)
const SETTLE_MS = 10_000
/** Pages that are read to find an earlier issue or comment. */
const MAX_PAGES = 10

interface Options {
  readonly repository: string
  readonly target: 'release' | 'issue' | 'comment'
  readonly tag?: string
  readonly issue?: number
  readonly title?: string
  readonly text?: string
  readonly prerelease?: boolean
  readonly discussion_category?: string
}

const repository = { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}/(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,100}$' }
const text = { type: 'string', minLength: 1, maxLength: 60_000 }
const title = { type: 'string', minLength: 1, maxLength: 256 }
const category = { type: 'string', minLength: 1, maxLength: 100 }

const OPTIONS = {
  type: 'object',
  required: ['repository', 'target'],
  oneOf: [
    {
      properties: {
        repository,
        target: { const: 'release' },
        tag: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_.+/-]{0,200}$' },
        title,
        text,
        prerelease: { type: 'boolean' },
        discussion_category: category
      },
      required: ['tag'],
      additionalProperties: false
    },
    {
      properties: { repository, target: { const: 'issue' }, title, text },
      additionalProperties: false
    },
    {
      properties: { repository, target: { const: 'comment' }, issue: { type: 'integer', minimum: 1 }, text },
      required: ['issue'],
      additionalProperties: false
    }
  ]
} as const

type Send = (request: Omit<RemoteRequest, 'url'> & { readonly path: string }) => Promise<RemoteAnswer>

/** Creates a release, an issue or a comment at GitHub, Forgejo or Gitea. */
export function forgeChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  return {
    name: 'forge',
    aliases: ['github'],
    summary: 'Creates a release, an issue or a comment at GitHub, Forgejo or Gitea',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () => credentials.problem(Object.values(forgeSecrets)),
    async preview(post) {
      const { target } = post.options as unknown as Options
      const body = channelText('text', bodyTextOf(post), BODY)
      return target === 'comment' ? [body] : [channelText('title', titleOf(post), TITLE), body]
    },
    async send(post, context) {
      const { target } = post.options as unknown as Options
      const send = await sender(parts, credentials, context)
      const marker = `<!-- svc:${context.attemptKey} -->`
      // The tag identifies a release, so that it is looked up at each attempt.
      const look = (sinceMs: number) =>
        target === 'release' ? findRelease(send, post, marker) : findByMarker(send, post, marker, sinceMs)
      const earlier =
        target === 'release'
          ? await look(0)
          : await findEarlierPost(context, { service: SERVICE, settleMs: SETTLE_MS, look })
      if (earlier !== null) return earlier
      await context.saveCheckpoint(sendingNow(context))
      return create(send, post, marker)
    }
  }
}

async function sender(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  { http, signal }: ChannelContext
): Promise<Send> {
  const token = await credentials.read(forgeSecrets.token, signal)
  const base = parts.settings().forge_api_base
  const client = http.named(SERVICE)
  const headers = { authorization: `token ${token}`, accept: 'application/json' }
  return async ({ path, ...rest }) => {
    const answer = await client.send({
      ...rest,
      url: addressOf(base, path),
      headers: { ...rest.headers, ...headers },
      accept: [...(rest.accept ?? []), 403]
    })
    if (answer.status === 403) throw forbidden(answer)
    return answer
  }
}

/** GitHub answers 403 for both missing rights and rate limits. */
function forbidden(answer: RemoteAnswer): RemoteFailure {
  const { headers } = answer
  if (headers.get('retry-after') === null && headers.get('x-ratelimit-remaining') !== '0')
    return new RemoteFailure(`${SERVICE}: the server answered 403; check the rights of the token`, {
      failureClass: 'auth',
      code: 'http_403',
      httpStatus: 403
    })
  const { retryAfterMs = 0 } = rateLimited(SERVICE, answer, 'x-ratelimit-reset')
  return new RemoteFailure(`${SERVICE}: the rate limit is reached (403); try again later`, {
    failureClass: 'rate_limit',
    code: 'forge_rate_limit',
    httpStatus: 403,
    retryAfterMs: Math.max(retryAfterMs, 1_000)
  })
}

function titleOf(post: NewsPost): string {
  const { title: own } = post.options as unknown as Options
  return cutText(own ?? post.title, { meters: [TITLE] })
}

/** A release has the whole text of the item, if it fits; an issue or a comment has the summary. */
function bodyTextOf(post: NewsPost): string {
  const { text: own, target } = post.options as unknown as Options
  const room = codeUnits(BODY.limit - 100)
  if (own !== undefined) return cutText(own, { meters: [room] })
  const whole = `${post.body.trim()}\n\n${post.link}`
  if (target === 'release' && whole.length <= room.limit) return whole
  return summaryWithLink(post.summary, post.link, [room])
}

/** Bodies as in the OpenAPI descriptions of GitHub and of Gitea, which have these fields in common. */
async function create(send: Send, post: NewsPost, marker: string): Promise<ChannelReceipt> {
  const {
    repository: name,
    target,
    tag,
    issue,
    prerelease = false,
    discussion_category
  } = post.options as unknown as Options
  const body = `${bodyTextOf(post)}\n\n${marker}`
  const path = `/repos/${name}`
  const request =
    target === 'release'
      ? {
          path: `${path}/releases`,
          body: {
            tag_name: tag,
            name: titleOf(post),
            body,
            draft: false,
            prerelease,
            ...(discussion_category === undefined ? {} : { discussion_category_name: discussion_category })
          }
        }
      : target === 'issue'
        ? { path: `${path}/issues`, body: { title: titleOf(post), body } }
        : { path: `${path}/issues/${issue}/comments`, body: { body } }
  const answer = await send({
    method: 'POST',
    path: request.path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body)
  })
  return receiptOf(answer.json())
}

async function findRelease(send: Send, post: NewsPost, marker: string): Promise<ChannelReceipt | null> {
  const { repository: name, tag = '' } = post.options as unknown as Options
  const path = `/repos/${name}/releases/tags/${encodeURIComponent(tag)}`
  const answer = await send({ method: 'GET', path, accept: [404] })
  if (answer.status === 404) return null
  const release = answer.json()
  if (textAt(release, 'body')?.includes(marker)) return receiptOf(release)
  throw new RemoteFailure(`${SERVICE}: ${name} already has a release ${tag}; use target: comment, or another tag`, {
    failureClass: 'fatal',
    code: 'release_exists'
  })
}

/** Looks for the marker in the issues of a repository, or in the comments of an issue. */
async function findByMarker(
  send: Send,
  post: NewsPost,
  marker: string,
  sinceMs: number
): Promise<ChannelReceipt | null> {
  const { repository: name, target, issue } = post.options as unknown as Options
  const list = target === 'issue' ? `/repos/${name}/issues` : `/repos/${name}/issues/${issue}/comments`
  const query = new URLSearchParams({ since: new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z') })
  if (target === 'issue') query.set('state', 'all')
  // GitHub and Gitea have different names for the size of a page.
  query.set('per_page', '50')
  query.set('limit', '50')
  let first: unknown
  for (let page = 1; page <= MAX_PAGES; page++) {
    query.set('page', String(page))
    const entries = (await send({ method: 'GET', path: `${list}?${query}` })).json()
    if (!Array.isArray(entries)) throw answerIncomplete(SERVICE, 'list')
    const found = entries.find(entry => textAt(entry, 'body')?.includes(marker))
    if (found !== undefined) return receiptOf(found)
    const id = fieldAt(entries, 0, 'id')
    // Comments of Gitea have no pages: it answers with the same list again.
    if (entries.length === 0 || id === first) return null
    first = id
  }
  throw outcomeUnknown(SERVICE, `an earlier attempt is not among ${MAX_PAGES} pages of entries`)
}

function receiptOf(entry: unknown): ChannelReceipt {
  const id = fieldAt(entry, 'id')
  if (typeof id !== 'number' && typeof id !== 'string') throw answerIncomplete(SERVICE, 'id of the entry')
  const url = textAt(entry, 'html_url')
  return url === null ? { externalId: String(id) } : { externalId: String(id), url }
}
