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
import { RefreshTokenLogin } from '../credentials/oauth.ts'
import { redditSecrets } from '../settings/reddit.ts'
import { adjustedCap } from '../templates/profiles.ts'
import { cutText } from '../text/cut.ts'
import { codePoints, fits } from '../text/meters.ts'
import { addressOf, answerIncomplete, codeOf, fieldAt, listAt, textAt } from './answer.ts'
import { channelText, summaryWithLink } from './derived-text.ts'
import { checkComplete, findEarlierPost, outcomeUnknown, sendingNow } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'

const SERVICE = 'Reddit'
const TITLE = codePoints(300)
const BODY = codePoints(40_000)
/** Lists of Reddit are built after a post is accepted. */
const SETTLE_MS = 60_000
/** Posts of one list; the most that Reddit gives. */
const LIST = 100

interface Options {
  readonly subreddit: string
  readonly kind?: 'self' | 'link'
  readonly title?: string
  readonly text?: string
  readonly flair_id?: string
  readonly nsfw?: boolean
  readonly spoiler?: boolean
  readonly send_replies?: boolean
}

const OPTIONS = {
  type: 'object',
  properties: {
    subreddit: { type: 'string', pattern: '^(?:r/)?[A-Za-z0-9][A-Za-z0-9_]{1,22}$' },
    kind: { enum: ['self', 'link'] },
    title: { type: 'string', minLength: 1, maxLength: 300 },
    text: { type: 'string', minLength: 1, maxLength: 40_000 },
    flair_id: { type: 'string', minLength: 1, maxLength: 64 },
    nsfw: { type: 'boolean' },
    spoiler: { type: 'boolean' },
    send_replies: { type: 'boolean' }
  },
  required: ['subreddit'],
  additionalProperties: false
} as const

interface Submission {
  readonly subreddit: string
  readonly title: string
  /** Text of a text post; null for a link. */
  readonly text: string | null
}

/** Posts a link or a text to a subreddit. */
export function redditChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  const login = new RefreshTokenLogin()
  const derive = (post: NewsPost): Submission => submissionOf(post, parts.settings().reddit_selfpost_summary_max)
  const sender = async ({ http, signal }: ChannelContext) => {
    const { reddit_api_base: base, reddit_login_base: loginBase } = parts.settings()
    const [clientId, clientSecret, refreshToken, userAgent] = await Promise.all([
      credentials.read(redditSecrets.clientId, signal),
      credentials.read(redditSecrets.clientSecret, signal),
      credentials.read(redditSecrets.refreshToken, signal),
      credentials.read(redditSecrets.userAgent, signal)
    ])
    const headers = { 'user-agent': userAgent }
    const grant = { service: SERVICE, clientAuth: 'basic', clientId, clientSecret, refreshToken, headers } as const
    const tokenUrl = addressOf(loginBase, '/api/v1/access_token')
    const client = http.named(SERVICE)
    return (request: Omit<RemoteRequest, 'url'> & { readonly path: string }): Promise<RemoteAnswer> => {
      const { path, ...rest } = request
      const url = addressOf(base, path)
      return login.send(
        { ...grant, tokenUrl },
        client,
        { ...rest, url, headers: { ...rest.headers, ...headers } },
        signal
      )
    }
  }
  return {
    name: 'reddit',
    summary: 'Posts a text or a link to a subreddit',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () => credentials.problem(Object.values(redditSecrets)),
    async preview(post) {
      const { title, text } = derive(post)
      return [
        channelText('title', title, TITLE),
        text === null ? channelText('link', post.link, BODY) : channelText('text', text, BODY)
      ]
    },
    async send(post, context) {
      const submission = derive(post)
      const send = await sender(context)
      const look = (sinceMs: number) => findSubmission(send, submission, post, sinceMs)
      const earlier = await findEarlierPost(context, { service: SERVICE, settleMs: SETTLE_MS, look })
      if (earlier !== null) return earlier
      await context.saveCheckpoint(sendingNow(context))
      return submit(send, submission, post, () => look(0))
    }
  }
}

type Send = (request: Omit<RemoteRequest, 'url'> & { readonly path: string }) => Promise<RemoteAnswer>

function submissionOf(post: NewsPost, summaryMax: number): Submission {
  const options = post.options as unknown as Options
  const subreddit = options.subreddit.replace(/^r\//, '')
  const title = cutText(options.title ?? post.title, { meters: [TITLE] })
  if ((options.kind ?? 'self') === 'link') return { subreddit, title, text: null }
  if (options.text !== undefined) return { subreddit, title, text: cutText(options.text, { meters: [BODY] }) }
  const cap = adjustedCap(summaryMax, post.adjust, BODY.limit)
  const derived = summaryWithLink(post.summary, post.link, [codePoints(cap)])
  const escaped = `${escapeMarkdown(derived.slice(0, -post.link.length))}${post.link}`
  return { subreddit, title, text: fits(escaped, [BODY]) ? escaped : derived }
}

/** Escapes characters that Markdown would use as syntax. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_~^[\]<>|]/g, '\\$&').replace(/^(?=[#+-])/gm, '\\')
}

/** Body of `POST /api/submit`, as in the API documentation of Reddit and in PRAW 8. */
function formOf(post: NewsPost, { subreddit, title, text }: Submission): string {
  const { flair_id, nsfw = false, spoiler = false, send_replies = true } = post.options as unknown as Options
  const form = new URLSearchParams({ api_type: 'json', kind: text === null ? 'link' : 'self', sr: subreddit, title })
  if (text === null) form.set('url', post.link)
  else form.set('text', text)
  // Reddit then refuses a link that the subreddit already has.
  form.set('resubmit', 'false')
  form.set('sendreplies', String(send_replies))
  form.set('nsfw', String(nsfw))
  form.set('spoiler', String(spoiler))
  if (flair_id !== undefined) form.set('flair_id', flair_id)
  return form.toString()
}

async function submit(
  send: Send,
  submission: Submission,
  post: NewsPost,
  find: () => Promise<ChannelReceipt | null>
): Promise<ChannelReceipt> {
  const answer = (
    await send({
      method: 'POST',
      path: '/api/submit',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formOf(post, submission)
    })
  ).json()
  const errors = listAt(answer, 'json', 'errors')
  if (errors.length > 0) {
    const names = errors.map(error => textAt(error, 0) ?? 'UNKNOWN')
    const earlier = names.includes('ALREADY_SUB') ? await find() : null
    if (earlier !== null) return earlier
    throw refusalOf(names, errors, fieldAt(answer, 'json', 'ratelimit'))
  }
  const id = textAt(answer, 'json', 'data', 'name')
  if (id === null) throw answerIncomplete(SERVICE, 'name of the post')
  return receipt(id, textAt(answer, 'json', 'data', 'url'))
}

/** Errors that later attempts may not have, and those that the account causes. All others are about the post. */
const TRANSIENT = new Set(['SERVICE_UNAVAILABLE', 'INTERNAL_SERVER_ERROR', 'SERVER_ERROR'])
const ACCOUNT = new Set([
  'USER_REQUIRED',
  'USER_MUTED',
  'ACCOUNT_SUSPENDED',
  'SUBREDDIT_NOTALLOWED',
  'BANNED_FROM_SUBREDDIT'
])

function refusalOf(names: readonly string[], errors: readonly unknown[], ratelimit: unknown): RemoteFailure {
  const name = names[0] ?? 'UNKNOWN'
  const code = codeOf('reddit', name)
  if (names.includes('RATELIMIT')) {
    const message = errors.map(error => textAt(error, 1) ?? '').join(' ')
    return new RemoteFailure(`${SERVICE}: the account posts too often (RATELIMIT); try again later`, {
      failureClass: 'rate_limit',
      code: 'reddit_ratelimit',
      retryAfterMs: waitOf(message, ratelimit)
    })
  }
  const label = code.slice('reddit_'.length).toUpperCase()
  if (TRANSIENT.has(name))
    return new RemoteFailure(`${SERVICE}: the server reports ${label}; try again later`, {
      failureClass: 'transient',
      code,
      outcomeUnknown: true
    })
  const todo = ACCOUNT.has(name) ? 'check the account and the rules of the subreddit' : 'change the item'
  return new RemoteFailure(`${SERVICE}: the post is refused with ${label}; ${todo}`, {
    failureClass: ACCOUNT.has(name) ? 'auth' : 'fatal',
    code
  })
}

const UNITS: Readonly<Record<string, number>> = { millisecond: 1, second: 1_000, minute: 60_000, hour: 3_600_000 }

/** Returns the wait of an answer: a field in seconds, or the text "try again in 9 minutes". Default: 60 seconds. */
function waitOf(message: string, seconds: unknown): number {
  if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0) return Math.ceil(seconds) * 1_000
  const [, count, unit] = /(\d{1,3}) (millisecond|second|minute|hour)s?/i.exec(message.slice(0, 1_000)) ?? []
  return count === undefined || unit === undefined ? 60_000 : Number(count) * (UNITS[unit.toLowerCase()] ?? 1_000)
}

/** Looks in the posts of the account. */
async function findSubmission(
  send: Send,
  { subreddit, title, text }: Submission,
  { link }: NewsPost,
  sinceMs: number
): Promise<ChannelReceipt | null> {
  const name = textAt((await send({ method: 'GET', path: '/api/v1/me?raw_json=1' })).json(), 'name')
  if (name === null) throw outcomeUnknown(SERVICE, 'the account has no name')
  const path = `/user/${encodeURIComponent(name)}/submitted?sort=new&limit=${LIST}&raw_json=1`
  const posts = listAt((await send({ method: 'GET', path })).json(), 'data', 'children')
  const isSame = (post: unknown): boolean =>
    textAt(post, 'data', 'subreddit')?.toLowerCase() === subreddit.toLowerCase() &&
    plainSpaces(textAt(post, 'data', 'title') ?? '') === plainSpaces(title) &&
    createdMs(post) >= sinceMs &&
    // Without a time, an older item with the same title must not be taken for this one.
    (sinceMs > 0 || hasContent(post, text, link))
  const found = posts.find(isSame)
  const id = textAt(found, 'data', 'name')
  if (id === null) {
    checkComplete(SERVICE, posts.map(createdMs), LIST, sinceMs)
    return null
  }
  const permalink = textAt(found, 'data', 'permalink')
  return receipt(id, permalink === null ? null : `https://www.reddit.com${permalink}`)
}

/** Returns Unix milliseconds, or NaN. */
function createdMs(post: unknown): number {
  return Number(fieldAt(post, 'data', 'created_utc')) * 1_000
}

/** Reddit may change the spaces of a title. */
function plainSpaces(title: string): string {
  return title.trim().replace(/\s+/g, ' ')
}

function hasContent(post: unknown, text: string | null, link: string): boolean {
  return text === null ? textAt(post, 'data', 'url') === link : textAt(post, 'data', 'selftext')?.trim() === text.trim()
}

function receipt(externalId: string, url: string | null): ChannelReceipt {
  return url === null ? { externalId } : { externalId, url }
}
