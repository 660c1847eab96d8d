import {
  type ChannelContext,
  type ChannelReceipt,
  isRemoteFailure,
  type NewsChannel,
  type NewsPost,
  type RemoteAnswer,
  RemoteFailure,
  type RemoteRequest
} from '@svc/contracts'
import { ChannelCredentials } from '../credentials/credentials.ts'
import { MASTODON_VISIBILITIES, mastodonSecrets } from '../settings/mastodon.ts'
import { adjustedCap } from '../templates/profiles.ts'
import { cutText } from '../text/cut.ts'
import { lengthOf, type Meter, mastodonCharacters } from '../text/meters.ts'
import { addressOf, answerIncomplete, textAt } from './answer.ts'
import { channelText, fitting, summaryWithLink } from './derived-text.ts'
import { findEarlierPost, outcomeUnknown, sendingNow, timeAt } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'
import { rateLimited } from './rate-limit.ts'

const SERVICE = 'Mastodon'
/** Servers keep the keys of requests for an hour. */
const KEY_MS = 50 * 60_000
const SETTLE_MS = 10_000
/** Posts whose text is read at most to find an earlier one; the most that one answer lists. */
const MAX_SOURCES = 40

interface Options {
  readonly text?: string
  readonly visibility?: (typeof MASTODON_VISIBILITIES)[number]
  readonly language?: string
  readonly spoiler_text?: string
  readonly sensitive?: boolean
}

const OPTIONS = {
  type: 'object',
  properties: {
    text: { type: 'string', pattern: '\\S', maxLength: 100_000 },
    visibility: { enum: MASTODON_VISIBILITIES },
    language: { type: 'string', pattern: '^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$' },
    spoiler_text: { type: 'string', minLength: 1, maxLength: 200 },
    sensitive: { type: 'boolean' }
  },
  additionalProperties: false
} as const

type Send = (request: Omit<RemoteRequest, 'url'> & { readonly path: string }) => Promise<RemoteAnswer>

/** Posts to a Mastodon server. Its key of the request makes attempts within an hour one post. */
export function mastodonChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  return {
    name: 'mastodon',
    summary: 'Posts to a Mastodon server',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () =>
      credentials.problem(Object.values(mastodonSecrets), {
        setting: 'mastodon_base_url',
        variable: 'SVC_SOCIAL_MASTODON_BASE_URL'
      }),
    async preview(post) {
      const { spoiler_text: warning } = post.options as Options
      const text = channelText('text', textOf(post, parts), roomOf(post, parts))
      return warning === undefined ? [text] : [channelText('warning', warning, meterOf(parts)), text]
    },
    async send(post, context) {
      const send = await sender(parts, credentials, context)
      // Settings may have changed since the first attempt; its text is the one to look for.
      const text = textAt(context.checkpoint, 'text') ?? textOf(post, parts)
      const earlier = await findUnlessKept(context, sinceMs => findStatus(send, text, sinceMs))
      if (earlier !== null) return earlier
      await context.saveCheckpoint({ text, ...sendingNow(context) })
      return create(send, bodyOf(post, text, parts), context.attemptKey)
    }
  }
}

function meterOf(parts: ChannelParts): Meter {
  return mastodonCharacters(parts.settings().mastodon_max_characters)
}

/** Returns the limit of the text: a content warning counts, too. */
function roomOf(post: NewsPost, parts: ChannelParts): Meter {
  const { spoiler_text: warning = '' } = post.options as Options
  const meter = meterOf(parts)
  return { ...meter, limit: Math.max(1, meter.limit - lengthOf(warning, meter)) }
}

function textOf(post: NewsPost, parts: ChannelParts): string {
  const { text, spoiler_text: warning = '' } = post.options as Options
  const room = roomOf(post, parts)
  const cap = adjustedCap(room.limit, post.adjust, room.limit)
  const found =
    text === undefined
      ? summaryWithLink(post.summary, post.link, [{ ...room, limit: cap }])
      : // Mastodon removes white space at both ends.
        cutText(text.trim(), { meters: [room] })
  const left = Math.max(0, meterOf(parts).limit - lengthOf(warning, room))
  const advice = 'shorten the text or its warning, or raise mastodon_max_characters if the server has a higher limit'
  return fitting(SERVICE, found, [{ ...room, limit: left }], advice)
}

/** Body of `POST /api/v1/statuses`, as in the documentation of Mastodon. */
function bodyOf(post: NewsPost, status: string, parts: ChannelParts): object {
  const { visibility, language, spoiler_text, sensitive } = post.options as Options
  return {
    status,
    visibility: visibility ?? parts.settings().mastodon_visibility,
    ...(language === undefined ? {} : { language }),
    ...(spoiler_text === undefined ? {} : { spoiler_text }),
    ...(sensitive === undefined ? {} : { sensitive })
  }
}

async function sender(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  { http, signal }: ChannelContext
): Promise<Send> {
  const base = parts.settings().mastodon_base_url
  if (base === undefined)
    throw new RemoteFailure(`${SERVICE}: no server is configured; set SVC_SOCIAL_MASTODON_BASE_URL`, {
      failureClass: 'config',
      code: 'server_missing'
    })
  const token = await credentials.read(mastodonSecrets.accessToken, signal)
  const client = http.named(SERVICE)
  return async ({ path, ...rest }) => {
    const answer = await client.send({
      ...rest,
      url: addressOf(base, path),
      headers: { ...rest.headers, authorization: `Bearer ${token}` },
      accept: [...(rest.accept ?? []), 429]
    })
    if (answer.status === 429) throw rateLimited(SERVICE, answer, 'x-ratelimit-reset')
    return answer
  }
}

async function create(send: Send, body: object, key: string): Promise<ChannelReceipt> {
  const answer = await send({
    method: 'POST',
    path: '/api/v1/statuses',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
    accept: [422]
  })
  if (answer.status === 422)
    throw new RemoteFailure(
      `${SERVICE}: the server refuses the text (422); check mastodon_max_characters and the item`,
      {
        failureClass: 'fatal',
        code: 'mastodon_text_refused',
        httpStatus: 422
      }
    )
  const receipt = receiptOf(answer.json())
  if (receipt === null) throw answerIncomplete(SERVICE, 'id of the post')
  return receipt
}

/** Like `findEarlierPost`; a token that may not read posts does not matter while the server keeps the key of the request. */
async function findUnlessKept(
  context: ChannelContext,
  look: (sinceMs: number) => Promise<ChannelReceipt | null>
): Promise<ChannelReceipt | null> {
  try {
    return await findEarlierPost(context, { service: SERVICE, settleMs: SETTLE_MS, look })
  } catch (error) {
    const first = timeAt(context, 'first_sent_at_ms')
    const isKept = first !== null && Date.now() - first < KEY_MS
    if (isRemoteFailure(error) && error.code === 'outcome_unknown' && isKept) return null
    throw error
  }
}

/** Looks for a post with this text among the latest ones of the account. Their contents are HTML; sources are exact. */
async function findStatus(send: Send, text: string, sinceMs: number): Promise<ChannelReceipt | null> {
  const account = textAt((await send({ method: 'GET', path: '/api/v1/accounts/verify_credentials' })).json(), 'id')
  if (account === null) throw answerIncomplete(SERVICE, 'id of the account')
  const path = `/api/v1/accounts/${encodeURIComponent(account)}/statuses?exclude_reblogs=true&limit=${MAX_SOURCES}`
  const listed = (await send({ method: 'GET', path })).json()
  const recent = (Array.isArray(listed) ? listed : []).filter(
    each => Date.parse(textAt(each, 'created_at') ?? '') >= sinceMs
  )
  for (const status of recent) {
    const receipt = receiptOf(status)
    if (receipt === null) continue
    const source = await send({
      method: 'GET',
      path: `/api/v1/statuses/${encodeURIComponent(receipt.externalId)}/source`,
      accept: [404]
    })
    if (source.status !== 404 && textAt(source.json(), 'text') === text) return receipt
  }
  if (recent.length >= MAX_SOURCES) throw outcomeUnknown(SERVICE, 'the account has more posts than svc reads')
  return null
}

function receiptOf(status: unknown): ChannelReceipt | null {
  const externalId = textAt(status, 'id')
  const url = textAt(status, 'url')
  if (externalId === null) return null
  return url === null || !/^https?:\/\//.test(url) ? { externalId } : { externalId, url }
}
