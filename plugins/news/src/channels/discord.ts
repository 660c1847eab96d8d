import { type ChannelReceipt, type NewsChannel, type NewsPost, type RemoteAnswer, RemoteFailure } from '@svc/contracts'
import { ChannelCredentials } from '../credentials/credentials.ts'
import { discordSecrets } from '../settings/discord.ts'
import { adjustedCap } from '../templates/profiles.ts'
import { cutText } from '../text/cut.ts'
import { fieldAt, textAt } from './answer.ts'
import { channelText, fitting } from './derived-text.ts'
import { CONTENT, EMBED_TEXT, EMBED_TITLE, embedOf, messageOf } from './discord-text.ts'
import { outcomeUnknown } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'
import { limitReached, rateLimited } from './rate-limit.ts'

const SERVICE = 'Discord'
const WEBHOOK = /^\/api(?:\/v\d{1,2})?\/webhooks\/(\d{5,25})\/[A-Za-z0-9_-]{20,200}\/?$/

interface Options {
  readonly text?: string
  /** Whether the title, summary and link are an embed below the text. */
  readonly embed?: boolean
  readonly username?: string
  readonly thread_id?: string
  /** Title of the thread that a message in a forum channel begins. */
  readonly thread_name?: string
}

const OPTIONS = {
  type: 'object',
  properties: {
    text: { type: 'string', pattern: '\\S', maxLength: 4_000 },
    embed: { type: 'boolean' },
    username: { type: 'string', minLength: 1, maxLength: 80 },
    thread_id: { type: 'string', pattern: '^\\d{5,25}$' },
    thread_name: { type: 'string', minLength: 1, maxLength: 100 }
  },
  not: { required: ['thread_id', 'thread_name'] },
  additionalProperties: false
} as const

/**
 * Posts to a channel of Discord through a webhook. Webhooks can only read messages whose id they know, so that after an
 * unknown outcome a person looks.
 */
export function discordChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  return {
    name: 'discord',
    summary: 'Posts to a channel of Discord through a webhook',
    live: true,
    options: OPTIONS,
    retry: 'standard',
    problem: () => credentials.problem(Object.values(discordSecrets)),
    async preview(post) {
      const { embed = false } = post.options as Options
      const content = contentOf(post)
      const texts = content === null ? [] : [channelText('text', content, CONTENT)]
      if (!embed) return texts
      const { title, description } = embedOf(post)
      return [
        ...texts,
        channelText('title of the embed', title, EMBED_TITLE),
        channelText('text of the embed', description, EMBED_TEXT)
      ]
    },
    async send(post, context) {
      const sent = context.checkpoint?.receipt
      if (isReceipt(sent)) return sent
      // The time is saved before anything is sent.
      if (context.mayExist && context.checkpoint?.sent_at_ms !== undefined)
        throw outcomeUnknown(SERVICE, 'an earlier attempt may have sent the post, and webhooks cannot search messages')
      const webhook = webhookOf(await credentials.read(discordSecrets.webhook, context.signal), post)
      await context.saveCheckpoint({ sent_at_ms: Date.now() })
      const answer = await context.http.named(SERVICE).send({
        method: 'POST',
        url: webhook.url,
        recordedPath: webhook.recordedPath,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodyOf(post)),
        accept: [400, 404, 429]
      })
      if (answer.status === 429) throw limited(answer)
      if (answer.status >= 400) throw refused(answer.status)
      const receipt = receiptOf(answer)
      await context.saveCheckpoint({ receipt })
      return receipt
    }
  }
}

function contentOf(post: NewsPost): string | null {
  const { text, embed = false } = post.options as Options
  if (text !== undefined) return cutText(text.trim(), { meters: [CONTENT] })
  if (embed) return null
  const message = messageOf(post, adjustedCap(CONTENT.limit, post.adjust, CONTENT.limit))
  return fitting(SERVICE, message, [CONTENT], 'use a shorter site_base_url')
}

/** Body of `POST /webhooks/{id}/{token}`, as in the documentation of Discord and the package discord-api-types. */
function bodyOf(post: NewsPost): object {
  const { embed = false, username, thread_name } = post.options as Options
  const content = contentOf(post)
  return {
    ...(content === null ? {} : { content }),
    ...(embed ? { embeds: [embedOf(post)] } : {}),
    ...(username === undefined ? {} : { username }),
    ...(thread_name === undefined ? {} : { thread_name }),
    // Names in the text notify no one.
    allowed_mentions: { parse: [] }
  }
}

/** Returns the address to post to, and the path that may be recorded: the address itself is the credential. */
function webhookOf(secret: string, post: NewsPost): { readonly url: string; readonly recordedPath: string } {
  const url = URL.canParse(secret.trim()) ? new URL(secret.trim()) : null
  const id = url === null ? undefined : WEBHOOK.exec(url.pathname)?.[1]
  if (url === null || id === undefined)
    throw new RemoteFailure(
      `${SERVICE}: the address of the webhook is not valid; copy it from the settings of the Discord channel`,
      { failureClass: 'config', code: 'webhook_invalid' }
    )
  const { thread_id } = post.options as Options
  url.search = new URLSearchParams({ wait: 'true', ...(thread_id === undefined ? {} : { thread_id }) }).toString()
  url.hash = ''
  return { url: url.href, recordedPath: `/api/webhooks/${id}/TOKEN` }
}

/** The body states the wait with fractions of a second. */
function limited(answer: RemoteAnswer): RemoteFailure {
  try {
    const seconds = fieldAt(JSON.parse(answer.text), 'retry_after')
    if (typeof seconds === 'number' && seconds >= 0) return limitReached(SERVICE, seconds * 1_000)
  } catch {
    // Answers of the network in front of Discord are not JSON.
  }
  return rateLimited(SERVICE, answer, 'x-ratelimit-reset')
}

function refused(status: number): RemoteFailure {
  return status === 404
    ? new RemoteFailure(`${SERVICE}: the webhook does not exist (404); create another one`, {
        failureClass: 'auth',
        code: 'webhook_unknown',
        httpStatus: 404
      })
    : new RemoteFailure(`${SERVICE}: the message is refused (${status}); change the item`, {
        failureClass: 'fatal',
        code: 'discord_message_refused',
        httpStatus: status
      })
}

function receiptOf(answer: RemoteAnswer): ChannelReceipt {
  const id = textAt(answer.json(), 'id')
  if (id === null || !/^\d{5,25}$/.test(id))
    throw outcomeUnknown(SERVICE, 'the answer does not name the message that was sent')
  return { externalId: id }
}

function isReceipt(value: unknown): value is ChannelReceipt {
  return textAt(value, 'externalId') !== null
}
