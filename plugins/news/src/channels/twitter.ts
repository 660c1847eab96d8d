import {
  type ChannelContext,
  type ChannelReceipt,
  type NewsChannel,
  type NewsPost,
  type RemoteAnswer,
  RemoteFailure
} from '@svc/contracts'
import { ChannelCredentials } from '../credentials/credentials.ts'
import { plainText } from '../items/plain-text.ts'
import { twitterSecrets } from '../settings/twitter.ts'
import { adjustedMargin } from '../templates/profiles.ts'
import { cutText } from '../text/cut.ts'
import { type Meter, weightedCharacters } from '../text/meters.ts'
import { splitThread } from '../text/thread.ts'
import { addressOf, answerIncomplete, textAt } from './answer.ts'
import { channelText, fitting, summaryWithLink } from './derived-text.ts'
import { findEarlierPost, lookOrGiveUp, outcomeUnknown, type SendingTimes, sendingNow } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'
import { rateLimited } from './rate-limit.ts'
import { findTweet, forbidden, type TwitterSend } from './twitter-timeline.ts'

const SERVICE = 'X'
const MAX_PARTS = 25
/** Time after which a post is in the timeline of its account. */
const SETTLE_MS = 30_000

interface Options {
  readonly text?: string
  readonly thread?: boolean
}

const OPTIONS = {
  type: 'object',
  properties: {
    text: { type: 'string', pattern: '\\S', maxLength: 60_000 },
    thread: { type: 'boolean' }
  },
  additionalProperties: false
} as const

/** Checkpoint between the parts of a thread, which then continues where it stopped, with the same texts. */
interface Progress extends SendingTimes {
  readonly texts: readonly string[]
  /** Ids of the parts that were sent. */
  readonly ids: readonly string[]
}

/** Posts to X, as one post or as a thread of replies. */
export function twitterChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  return {
    name: 'twitter',
    aliases: ['x'],
    summary: 'Posts to X (Twitter), as one post or as a thread',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () => credentials.problem(Object.values(twitterSecrets)),
    async preview(post) {
      const texts = textsOf(post, parts)
      return texts.map((text, n) =>
        channelText(texts.length === 1 ? 'text' : `part ${n + 1} of ${texts.length}`, text, meterOf(parts))
      )
    },
    async send(post, context) {
      const send = await sender(parts, credentials, context)
      const saved = progressOf(context.checkpoint)
      const texts = saved?.texts ?? textsOf(post, parts)
      const ids = [...(saved?.ids ?? [])]
      let { mayExist } = context
      for (const text of texts.slice(ids.length)) {
        const look = async (sinceMs: number) => {
          const { id, isComplete } = await findTweet(send, text, sinceMs)
          if (id === null && !isComplete) throw outcomeUnknown(SERVICE, 'the account has more posts than svc reads')
          return receiptOf(id)
        }
        const earlier = await findEarlierPost({ ...context, mayExist }, { service: SERVICE, settleMs: SETTLE_MS, look })
        mayExist = false
        const before: Progress = { texts, ids: [...ids], ...sendingNow(context) }
        if (earlier === null) await context.saveCheckpoint({ ...before })
        ids.push(earlier?.externalId ?? (await create(send, text, ids.at(-1))))
        await context.saveCheckpoint({ ...before, ids: [...ids] })
      }
      const receipt = receiptOf(ids[0] ?? null)
      if (receipt === null) throw answerIncomplete(SERVICE, 'id of the post')
      return receipt
    }
  }
}

function meterOf(parts: ChannelParts): Meter {
  return weightedCharacters(parts.settings().twitter_text_chunk_max)
}

function textsOf(post: NewsPost, parts: ChannelParts): readonly string[] {
  const { text, thread = false } = post.options as Options
  const { twitter_truncation_suffix: suffix, twitter_summary_margin_chars: margin } = parts.settings()
  const meter = meterOf(parts)
  const texts = thread
    ? splitThread(text ?? plainText(post.body), { meters: [meter], maxParts: MAX_PARTS, suffix, ending: post.link })
    : text === undefined
      ? [
          summaryWithLink(post.summary, post.link, [meter], {
            suffix,
            marginChars: adjustedMargin(margin, post.adjust)
          })
        ]
      : [cutText(text.trim(), { meters: [meter], suffix })]
  const advice = 'shorten it, or raise SVC_NEWS_TWITTER_TEXT_CHUNK_MAX'
  return (texts.length === 0 ? [''] : texts).map(each => fitting(SERVICE, each, [meter], advice))
}

async function sender(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  { http, signal }: ChannelContext
): Promise<TwitterSend> {
  const token = await credentials.read(twitterSecrets.token, signal)
  const client = http.named(SERVICE)
  const base = parts.settings().twitter_api_base
  return async ({ path, query = {}, ...rest }) => {
    const search = new URLSearchParams(query).toString()
    const answer = await client.send({
      ...rest,
      url: addressOf(base, search === '' ? path : `${path}?${search}`),
      headers: { ...rest.headers, authorization: `Bearer ${token}` },
      accept: [403, 429]
    })
    if (answer.status === 429) throw rateLimited(SERVICE, answer, 'x-rate-limit-reset')
    if (answer.status === 403 && !isDuplicate(answer)) throw forbidden()
    return answer
  }
}

/** Sends one part, with a body as in the OpenAPI description of X (`POST /2/tweets`). Returns its id. */
async function create(send: TwitterSend, text: string, replyTo: string | undefined): Promise<string> {
  const answer = await send({
    method: 'POST',
    path: '/2/tweets',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text, ...(replyTo === undefined ? {} : { reply: { in_reply_to_tweet_id: replyTo } }) })
  })
  if (answer.status === 403) {
    // X refuses a text that the account has just posted.
    const earlier = await lookOrGiveUp(SERVICE, 'X reports that the account has posted this text', () =>
      findTweet(send, text, 0)
    )
    if (earlier.id !== null) return earlier.id
    throw new RemoteFailure(`${SERVICE}: the account has posted this text before; change the item`, {
      failureClass: 'fatal',
      code: 'twitter_duplicate',
      httpStatus: 403
    })
  }
  const id = textAt(answer.json(), 'data', 'id')
  if (id === null) throw answerIncomplete(SERVICE, 'id of the post')
  return id
}

function isDuplicate({ text }: RemoteAnswer): boolean {
  return /duplicate content|status is a duplicate/i.test(text.slice(0, 10_000))
}

function receiptOf(id: string | null): ChannelReceipt | null {
  return id === null ? null : { externalId: id, url: `https://x.com/i/web/status/${encodeURIComponent(id)}` }
}

function progressOf(checkpoint: ChannelContext['checkpoint']): Pick<Progress, 'texts' | 'ids'> | null {
  const { texts, ids } = checkpoint ?? {}
  return isTexts(texts) && isTexts(ids) && texts.length > 0 ? { texts, ids } : null
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
