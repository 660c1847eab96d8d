import { createHash } from 'node:crypto'
import {
  type ChannelContext,
  type ChannelReceipt,
  type NewsChannel,
  type NewsPost,
  RemoteFailure
} from '@svc/contracts'
import { ChannelCredentials } from '../credentials/credentials.ts'
import { blueskySecrets } from '../settings/bluesky.ts'
import { adjustedCap } from '../templates/profiles.ts'
import { cutText } from '../text/cut.ts'
import { graphemes, type Meter, utf8Bytes } from '../text/meters.ts'
import { textAt } from './answer.ts'
import { facetsOf } from './bluesky-facets.ts'
import {
  type BlueskyAccount,
  BlueskySession,
  creatingNothing,
  type XrpcAnswer,
  type XrpcRequest
} from './bluesky-session.ts'
import { channelText, fitting, summaryWithLink } from './derived-text.ts'
import type { ChannelParts } from './parts.ts'

const SERVICE = 'Bluesky'
const COLLECTION = 'app.bsky.feed.post'
const TEXT = graphemes(300)
const METERS: readonly Meter[] = [TEXT, utf8Bytes(3_000)]
/** The lexicon of cards sets no limits; clients show about as much. */
const CARD_TITLE = graphemes(300)
const CARD_DESCRIPTION = graphemes(300)

interface Options {
  readonly text?: string
  /** Whether the post has a card with the address of the item; else the text contains the address. */
  readonly card?: boolean
  readonly langs?: readonly string[]
}

const OPTIONS = {
  type: 'object',
  properties: {
    text: { type: 'string', pattern: '\\S', maxLength: 3_000 },
    card: { type: 'boolean' },
    langs: { type: 'array', maxItems: 3, items: { type: 'string', pattern: '^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$' } }
  },
  additionalProperties: false
} as const

type Call = (request: XrpcRequest) => Promise<XrpcAnswer>

/** Posts to Bluesky or another server of the AT Protocol. The key of the record makes each attempt the same post. */
export function blueskyChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  const session = new BlueskySession()
  return {
    name: 'bluesky',
    summary: 'Posts to Bluesky',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () =>
      credentials.problem(Object.values(blueskySecrets), {
        setting: 'bluesky_handle',
        variable: 'SVC_SOCIAL_BLUESKY_HANDLE'
      }),
    async preview(post) {
      const text = channelText('text', textOf(post), TEXT)
      if (!hasCard(post)) return [text]
      const { title, description } = cardOf(post)
      return [
        text,
        channelText('title of the card', title, CARD_TITLE),
        channelText('text of the card', description, CARD_DESCRIPTION)
      ]
    },
    async send(post, context) {
      const account = await accountOf(parts, credentials, context)
      const call: Call = request => session.call(account, context.http, request)
      const createdAt = textAt(context.checkpoint, 'created_at') ?? new Date().toISOString()
      await context.saveCheckpoint({ created_at: createdAt })
      const did = await session.did(account)
      return put(call, post, { did, rkey: recordKey(post, context.attemptKey), createdAt })
    }
  }
}

async function accountOf(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  { signal }: ChannelContext
): Promise<BlueskyAccount> {
  const { bluesky_handle: handle, bluesky_service: service } = parts.settings()
  if (handle === undefined)
    throw new RemoteFailure(`${SERVICE}: no account is configured; set SVC_SOCIAL_BLUESKY_HANDLE`, {
      failureClass: 'config',
      code: 'account_missing'
    })
  return { service, handle, appPassword: await credentials.read(blueskySecrets.appPassword, signal) }
}

function hasCard(post: NewsPost): boolean {
  return (post.options as Options).card ?? true
}

function textOf(post: NewsPost): string {
  const { text } = post.options as Options
  const meters = METERS.map(meter => ({ ...meter, limit: adjustedCap(meter.limit, post.adjust, meter.limit) }))
  const found =
    text !== undefined
      ? cutText(text.trim(), { meters: METERS })
      : hasCard(post)
        ? cutText(post.summary === '' ? post.title : post.summary, { meters })
        : summaryWithLink(post.summary, post.link, meters)
  return fitting(SERVICE, found, METERS, 'shorten the text, or use a shorter site_base_url')
}

function cardOf(post: NewsPost): { readonly title: string; readonly description: string } {
  return {
    title: cutText(post.title, { meters: [CARD_TITLE] }),
    description: cutText(post.summary, { meters: [CARD_DESCRIPTION] })
  }
}

interface RecordPlace {
  readonly did: string
  readonly rkey: string
  readonly createdAt: string
}

/** Creates the record, as in the lexicons `com.atproto.repo.putRecord` and `app.bsky.feed.post`. */
async function put(call: Call, post: NewsPost, { did, rkey, createdAt }: RecordPlace): Promise<ChannelReceipt> {
  const { langs } = post.options as Options
  const text = textOf(post)
  const didOf = async (handle: string): Promise<string | null> => {
    const query = { handle }
    const name = 'com.atproto.identity.resolveHandle'
    const acceptErrors = ['InvalidRequest', 'HandleNotFound']
    const answer = await creatingNothing(call({ method: 'GET', name, query, acceptErrors }))
    return textAt(answer.value, 'did')
  }
  const facets = await facetsOf(text, didOf)
  const record = {
    $type: COLLECTION,
    text,
    createdAt,
    ...(facets.length === 0 ? {} : { facets }),
    ...(langs === undefined ? {} : { langs }),
    ...(hasCard(post)
      ? { embed: { $type: 'app.bsky.embed.external', external: { uri: post.link, ...cardOf(post) } } }
      : {})
  }
  const { error } = await call({
    method: 'POST',
    name: 'com.atproto.repo.putRecord',
    // Null: there must be no record with this key, so that no post is ever replaced.
    body: { repo: did, collection: COLLECTION, rkey, record, validate: true, swapRecord: null },
    repeatable: true,
    acceptErrors: ['InvalidSwap']
  })
  if (error !== null) await checkSame(call, { did, rkey, createdAt }, text)
  return { externalId: `at://${did}/${COLLECTION}/${rkey}`, url: `https://bsky.app/profile/${did}/post/${rkey}` }
}

/** Checks that the record with the key of this post is this post: it has the same time, or the same text. */
async function checkSame(call: Call, { did, rkey, createdAt }: RecordPlace, text: string): Promise<void> {
  const query = { repo: did, collection: COLLECTION, rkey }
  const { value } = await call({ method: 'GET', name: 'com.atproto.repo.getRecord', query })
  if (textAt(value, 'value', 'createdAt') === createdAt || textAt(value, 'value', 'text') === text) return
  throw new RemoteFailure(`${SERVICE}: another post has the key ${rkey}; change the item`, {
    failureClass: 'fatal',
    code: 'record_key_taken'
  })
}

const TID_DIGITS = '234567abcdefghijklmnopqrstuvwxyz'

/**
 * Returns the key of the record in the form of a TID: 53 bits of microseconds and 10 bits that tell writers apart, as 13
 * digits of base 32. The microseconds are those of `publishedAt`; what it leaves open comes from the key of the attempts.
 */
export function recordKey({ publishedAt }: Pick<NewsPost, 'publishedAt'>, attemptKey: string): string {
  const hash = createHash('sha256').update(attemptKey).digest().readUInt32BE(0)
  const micros = BigInt(Math.max(0, Date.parse(publishedAt))) * 1_000n + BigInt(hash % 1_000)
  let bits = ((micros & ((1n << 53n) - 1n)) << 10n) | BigInt((hash >>> 10) % 1_024)
  let key = ''
  for (let digit = 0; digit < 13; digit++, bits >>= 5n) key = TID_DIGITS.charAt(Number(bits & 31n)) + key
  return key
}
