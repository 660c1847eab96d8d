import {
  type ChannelContext,
  type ChannelReceipt,
  type NewsChannel,
  type NewsPost,
  RemoteFailure
} from '@svc/contracts'
import { ChannelCredentials } from '../credentials/credentials.ts'
import { openCollectiveSecrets } from '../settings/open-collective.ts'
import { cutText } from '../text/cut.ts'
import { codePoints } from '../text/meters.ts'
import { addressOf, answerIncomplete, codeOf, fieldAt, listAt, textAt } from './answer.ts'
import { channelText, summaryWithLink } from './derived-text.ts'
import { checkComplete, findEarlierPost, sendingNow, timeAt } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'

const SERVICE = 'Open Collective'
const TITLE = codePoints(255)
/** Open Collective states no limit; a longer text belongs on the site. */
const BODY = codePoints(10_000)
const SETTLE_MS = 10_000
/** Updates of one list. */
const LIST_LENGTH = 50

interface Options {
  readonly title?: string
  readonly text?: string
  readonly private?: boolean
  readonly audience?: 'ALL' | 'COLLECTIVE_ADMINS' | 'FINANCIAL_CONTRIBUTORS' | 'NO_ONE'
}

const OPTIONS = {
  type: 'object',
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 255 },
    text: { type: 'string', minLength: 1, maxLength: 10_000 },
    private: { type: 'boolean' },
    audience: { enum: ['ALL', 'COLLECTIVE_ADMINS', 'FINANCIAL_CONTRIBUTORS', 'NO_ONE'] }
  },
  additionalProperties: false
} as const

// Operations of server/graphql/schemaV2.graphql of opencollective-api.
const CREATE = `mutation CreateUpdate($update: UpdateCreateInput!) {
  createUpdate(update: $update) { id slug }
}`
/** `audience` is one of the values that the options allow. */
const publishText = (audience: string | undefined): string => `mutation PublishUpdate($id: String!) {
  publishUpdate(id: $id${audience === undefined ? '' : `, notificationAudience: ${audience}`}) { id slug publishedAt }
}`
const READ = `query ReadUpdate($id: String!) {
  update(id: $id) { id slug publishedAt }
}`
const LIST = `query ListUpdates($slug: String!) {
  account(slug: $slug) {
    updates(limit: ${LIST_LENGTH}, orderBy: { field: CREATED_AT, direction: DESC }) { nodes { id slug html createdAt } }
  }
}`

type Query = (query: string, variables: Readonly<Record<string, unknown>>) => Promise<unknown>

/** Creates an update of a collective, then publishes it. */
export function openCollectiveChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  return {
    name: 'open_collective',
    summary: 'Publishes an update of a collective on Open Collective',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () =>
      credentials.problem(Object.values(openCollectiveSecrets), {
        setting: 'open_collective_slug',
        variable: 'SVC_NEWS_OPENCOLLECTIVE_SLUG'
      }),
    async preview(post) {
      return [channelText('title', titleOf(post), TITLE), channelText('text', textOf(post), BODY)]
    },
    async send(post, context) {
      const { query, slug } = await session(parts, credentials, context)
      const id = await createdUpdate(query, slug, post, context)
      return publish(query, slug, id, post, context)
    }
  }
}

async function session(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  { http, signal }: ChannelContext
): Promise<{ readonly query: Query; readonly slug: string }> {
  const { open_collective_slug: slug, open_collective_api_base: base } = parts.settings()
  if (slug === undefined)
    throw new RemoteFailure(`${SERVICE}: no collective is configured; set SVC_NEWS_OPENCOLLECTIVE_SLUG`, {
      failureClass: 'config',
      code: 'collective_missing'
    })
  const token = await credentials.read(openCollectiveSecrets.token, signal)
  const client = http.named(SERVICE)
  const query: Query = async (text, variables) => {
    const answer = await client.send({
      method: 'POST',
      url: addressOf(base, '/graphql/v2'),
      headers: { 'personal-token': token, 'content-type': 'application/json' },
      body: JSON.stringify({ query: text, variables }),
      repeatable: text.startsWith('query'),
      accept: [400]
    })
    const body = answer.json()
    const [error] = listAt(body, 'errors')
    if (error !== undefined || answer.status === 400) throw refusalOf(error, answer.status)
    return fieldAt(body, 'data')
  }
  return { query, slug }
}

function refusalOf(error: unknown, status: number): RemoteFailure {
  // An error without a code comes from within an operation, unless the request was refused as a whole.
  const name = textAt(error, 'extensions', 'code') ?? (status === 400 ? 'error' : 'internal')
  const code = codeOf('open_collective', name)
  if (/unauthorized|forbidden|unauthenticated/i.test(name))
    return new RemoteFailure(`${SERVICE}: the token is not accepted (${code}); it needs the scope updates`, {
      failureClass: 'auth',
      code
    })
  if (/rate|too_many/i.test(name))
    return new RemoteFailure(`${SERVICE}: the rate limit is reached (${code}); try again later`, {
      failureClass: 'rate_limit',
      code,
      retryAfterMs: 60_000
    })
  // A server that fails within a mutation may have carried it out.
  if (/internal/i.test(name))
    return new RemoteFailure(
      `${SERVICE}: the server failed (${code}); svc looks for the update before it sends again`,
      {
        failureClass: 'transient',
        code,
        outcomeUnknown: true
      }
    )
  return new RemoteFailure(`${SERVICE}: the request is refused (${code}); check the collective and the item`, {
    failureClass: 'fatal',
    code
  })
}

/** Returns the id of the update, and creates it if no earlier attempt did. */
async function createdUpdate(query: Query, slug: string, post: NewsPost, context: ChannelContext): Promise<string> {
  const known = textAt(context.checkpoint, 'update_id')
  if (known !== null) return known
  const marker = markerOf(context.attemptKey)
  const look = (sinceMs: number) => findUpdate(query, slug, marker, sinceMs)
  const earlier = await findEarlierPost(context, { service: SERVICE, settleMs: SETTLE_MS, look })
  if (earlier !== null) return earlier.externalId
  await context.saveCheckpoint(sendingNow(context))
  const { private: isPrivate = false } = post.options as Options
  const update = { title: titleOf(post), html: htmlOf(post, marker), isPrivate, account: { slug } }
  const id = textAt(await query(CREATE, { update }), 'createUpdate', 'id')
  if (id === null) throw answerIncomplete(SERVICE, 'id of the update')
  await context.saveCheckpoint({ ...sendingNow(context), update_id: id })
  return id
}

async function findUpdate(query: Query, slug: string, marker: string, sinceMs: number): Promise<ChannelReceipt | null> {
  const updates = listAt(await query(LIST, { slug }), 'account', 'updates', 'nodes')
  const id = textAt(
    updates.find(each => textAt(each, 'html')?.includes(marker)),
    'id'
  )
  if (id !== null) return { externalId: id }
  checkComplete(
    SERVICE,
    updates.map(each => Date.parse(textAt(each, 'createdAt') ?? '')),
    LIST_LENGTH,
    sinceMs
  )
  return null
}

/** Publishes an update that is not published yet: publishing notifies the audience. */
async function publish(
  query: Query,
  slug: string,
  id: string,
  post: NewsPost,
  context: ChannelContext
): Promise<ChannelReceipt> {
  let update = fieldAt(await query(READ, { id }), 'update')
  if (update === null || update === undefined)
    throw new RemoteFailure(`${SERVICE}: the update ${id} was removed before it was published; use svc news resolve`, {
      failureClass: 'fatal',
      code: 'update_removed'
    })
  if (textAt(update, 'publishedAt') === null) {
    const sentAt = context.checkpoint?.publishing === true ? timeAt(context, 'sent_at_ms') : null
    const waitMs = (sentAt ?? 0) + SETTLE_MS - Date.now()
    // Two requests at the same time would notify the audience twice.
    if (waitMs > 0)
      throw new RemoteFailure(`${SERVICE}: the earlier attempt may still publish the update; svc looks again later`, {
        failureClass: 'transient',
        code: 'outcome_pending',
        retryAfterMs: Math.min(waitMs, SETTLE_MS),
        outcomeUnknown: true
      })
    await context.saveCheckpoint({ ...sendingNow(context), update_id: id, publishing: true })
    const { audience } = post.options as Options
    update = fieldAt(await query(publishText(audience), { id }), 'publishUpdate')
  }
  const name = textAt(update, 'slug')
  if (name === null) throw answerIncomplete(SERVICE, 'slug of the update')
  return { externalId: id, url: `https://opencollective.com/${slug}/updates/${name}` }
}

function titleOf(post: NewsPost): string {
  const { title } = post.options as Options
  return cutText(title ?? post.title, { meters: [TITLE] })
}

/** Returns the text with its link at the end. */
function textOf(post: NewsPost): string {
  const { text } = post.options as Options
  return summaryWithLink(text ?? post.summary, post.link, [BODY])
}

/** Fragment of the link by which an update is found again. Comments and attributes are removed by the server. */
function markerOf(attemptKey: string): string {
  return `#svc-${attemptKey.slice(0, 16)}`
}

function htmlOf(post: NewsPost, marker: string): string {
  const paragraphs = textOf(post)
    .slice(0, -post.link.length)
    .split(/\n{2,}/)
    .filter(each => each.trim() !== '')
    .map(each => `<p>${escapeHtml(each.trim()).replace(/\n/g, '<br />')}</p>`)
  const link = escapeHtml(post.link)
  return `${paragraphs.join('')}<p><a href="${link}${marker}">${link}</a></p>`
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}
