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
import { linkedinSecrets } from '../settings/linkedin.ts'
import { cutText } from '../text/cut.ts'
import { codePoints, lengthOf } from '../text/meters.ts'
import { addressOf, answerIncomplete, codeOf, fieldAt, listAt, textAt } from './answer.ts'
import { channelText, summaryWithLink } from './derived-text.ts'
import { checkComplete, findEarlierPost, sendingNow } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'

const SERVICE = 'LinkedIn'
const COMMENTARY = codePoints(3_000)
const MAX_TITLE = 400
const SETTLE_MS = 60_000
/** Posts of one list. */
const LIST = 50
const MAX_HASHTAGS = 5

interface Options {
  readonly text?: string
  readonly visibility?: 'PUBLIC' | 'CONNECTIONS' | 'LOGGED_IN'
  readonly article?: boolean
  readonly hashtags?: readonly string[]
}

const OPTIONS = {
  type: 'object',
  properties: {
    text: { type: 'string', minLength: 1, maxLength: 3_000 },
    visibility: { enum: ['PUBLIC', 'CONNECTIONS', 'LOGGED_IN'] },
    article: { type: 'boolean' },
    hashtags: {
      type: 'array',
      maxItems: MAX_HASHTAGS,
      items: { type: 'string', pattern: '^[^\\s\\\\|{}@\\[\\]()<>#*_~]{1,100}$' }
    }
  },
  additionalProperties: false
} as const

/** Posts to the feed of a member or an organization. */
export function linkedinChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  return {
    name: 'linkedin',
    summary: 'Posts to the feed of a member or an organization on LinkedIn',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () =>
      credentials.problem(Object.values(linkedinSecrets), {
        setting: 'linkedin_author_urn',
        variable: 'SVC_SOCIAL_LINKEDIN_AUTHOR_URN'
      }),
    async preview(post) {
      return [channelText('text', commentaryOf(post), COMMENTARY)]
    },
    async send(post, context) {
      const { send, author } = await sender(parts, credentials, context)
      const look = (sinceMs: number) => findPost(send, author, post, sinceMs)
      const earlier = await findEarlierPost(context, { service: SERVICE, settleMs: SETTLE_MS, look })
      if (earlier !== null) return earlier
      await context.saveCheckpoint(sendingNow(context))
      return create(send, author, post)
    }
  }
}

type Send = (request: Omit<RemoteRequest, 'url'> & { readonly path: string }) => Promise<RemoteAnswer>

async function sender(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  { http, signal }: ChannelContext
): Promise<{ readonly send: Send; readonly author: string }> {
  const { linkedin_author_urn: author, linkedin_api_base: base, linkedin_version: version } = parts.settings()
  if (author === undefined)
    throw new RemoteFailure(`${SERVICE}: no author is configured; set SVC_SOCIAL_LINKEDIN_AUTHOR_URN`, {
      failureClass: 'config',
      code: 'author_missing'
    })
  const token = await credentials.read(linkedinSecrets.accessToken, signal)
  const client = http.named(SERVICE)
  const headers = {
    authorization: `Bearer ${token}`,
    'linkedin-version': version,
    'x-restli-protocol-version': '2.0.0'
  }
  return {
    author,
    send: ({ path, ...rest }) =>
      client.send({ ...rest, url: addressOf(base, path), headers: { ...rest.headers, ...headers } })
  }
}

/** Returns the text before it is escaped: LinkedIn counts what readers see. */
function commentaryOf(post: NewsPost): string {
  const { text, hashtags = [] } = post.options as Options
  const tags = hashtags.length === 0 ? '' : `\n\n${hashtags.map(each => `#${each}`).join(' ')}`
  const room = { ...COMMENTARY, limit: COMMENTARY.limit - lengthOf(tags, COMMENTARY) }
  const words =
    text === undefined ? summaryWithLink(post.summary, post.link, [room]) : cutText(text, { meters: [room] })
  return `${words}${tags}`
}

/** Characters that the text format of LinkedIn ("little") reserves. */
const RESERVED = /[\\|{}@[\]()<>#*_~]/g

/** Returns the commentary in the text format of LinkedIn. Only the hashtags of the item keep their meaning. */
function littleText(post: NewsPost): string {
  const { hashtags = [] } = post.options as Options
  const commentary = commentaryOf(post)
  const tags = hashtags.map(each => `#${each}`).join(' ')
  const words = commentary.slice(0, commentary.length - tags.length).replace(RESERVED, '\\$&')
  return `${words}${hashtags.map(each => `{hashtag|\\#|${each}}`).join(' ')}`
}

/** Body of `POST /rest/posts`, as in the documentation of the Posts API. */
function bodyOf(post: NewsPost, author: string): object {
  const { visibility = 'PUBLIC', article = true } = post.options as Options
  const title = cutText(post.title, { meters: [codePoints(MAX_TITLE)] })
  return {
    author,
    commentary: littleText(post),
    visibility,
    distribution: { feedDistribution: 'MAIN_FEED', targetEntities: [], thirdPartyDistributionChannels: [] },
    ...(article ? { content: { article: { source: post.link, title } } } : {}),
    lifecycleState: 'PUBLISHED',
    isReshareDisabledByAuthor: false
  }
}

const URN = /^urn:li:(?:share|ugcPost):\d{1,25}$/

async function create(send: Send, author: string, post: NewsPost): Promise<ChannelReceipt> {
  const answer = await send({
    method: 'POST',
    path: '/rest/posts',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(post, author)),
    accept: [400, 409, 422, 426]
  })
  if (answer.status < 300) {
    const id = answer.headers.get('x-restli-id') ?? answer.headers.get('x-linkedin-id')
    if (id === null) throw answerIncomplete(SERVICE, 'id of the post')
    return receipt(id)
  }
  // "Content is a duplicate of urn:li:share:…": the account has already posted this text.
  const duplicate = /duplicate of (urn:li:(?:share|ugcPost):\d{1,25})/i.exec(answer.text.slice(0, 10_000))?.[1]
  if (duplicate !== undefined) return receipt(duplicate)
  throw refusalOf(answer)
}

function refusalOf(answer: RemoteAnswer): RemoteFailure {
  const name = parsed(answer.text, 'code')
  if (answer.status === 426 || name === 'NONEXISTENT_VERSION')
    return new RemoteFailure(`${SERVICE}: this version of the API has ended; set SVC_SOCIAL_LINKEDIN_VERSION`, {
      failureClass: 'config',
      code: 'linkedin_version_ended',
      httpStatus: answer.status
    })
  return new RemoteFailure(
    `${SERVICE}: the post is refused with ${answer.status}${name === null ? '' : ` (${codeOf('linkedin', name)})`}; change the item, or check the author and the version`,
    {
      failureClass: 'fatal',
      code: name === null ? `http_${answer.status}` : codeOf('linkedin', name),
      httpStatus: answer.status
    }
  )
}

function parsed(text: string, field: string): string | null {
  try {
    return textAt(JSON.parse(text), field)
  } catch {
    return null
  }
}

/** Looks in the latest posts of the author; needs the right to read them. */
async function findPost(send: Send, author: string, post: NewsPost, sinceMs: number): Promise<ChannelReceipt | null> {
  const query = `q=author&author=${encodeURIComponent(author)}&count=${LIST}&sortBy=LAST_MODIFIED`
  const answer = await send({
    method: 'GET',
    path: `/rest/posts?${query}`,
    headers: { 'x-restli-method': 'FINDER' }
  })
  const text = littleText(post)
  const posts = listAt(answer.json(), 'elements')
  const found = posts.find(
    each =>
      Number(fieldAt(each, 'createdAt')) >= sinceMs &&
      // Without a time, an older text of the same item must not be taken for this one.
      (textAt(each, 'commentary') === text ||
        (sinceMs > 0 && textAt(each, 'content', 'article', 'source') === post.link))
  )
  const id = textAt(found, 'id')
  if (id !== null && URN.test(id)) return receipt(id)
  const changedMs = (each: unknown): number => Number(fieldAt(each, 'lastModifiedAt') ?? fieldAt(each, 'createdAt'))
  checkComplete(SERVICE, posts.map(changedMs), LIST, sinceMs)
  return null
}

function receipt(externalId: string): ChannelReceipt {
  return { externalId, url: `https://www.linkedin.com/feed/update/${externalId}/` }
}
