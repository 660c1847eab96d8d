import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

export const WEBHOOK_ID = '223704706495545344'
export const WEBHOOK_TOKEN =
  '3d89bb7572e0fb30d8128367b3b1b44fecd1726de135cbe28a41f8b2f777c372ba2939e72279b94526ff5d1bd4358d65cf11'
export const WEBHOOK_PATH = `/api/webhooks/${WEBHOOK_ID}/${WEBHOOK_TOKEN}`

/**
 * Speaks "Execute Webhook" of Discord as in npm discord-api-types 0.38.57 (RESTPostAPIWebhookWithTokenJSONBody,
 * RESTPostAPIWebhookWithTokenWaitResult, RESTRateLimit) with the limits of messages and embeds.
 */
export async function openDiscord(t: Test) {
  const messages: any[] = []
  const service = await openService(t, request => {
    if (request.path !== WEBHOOK_PATH) return { status: 404, body: { message: 'Unknown Webhook', code: 10_015 } }
    return request.method === 'POST' ? execute(request) : { status: 405 }
  })
  const execute = (request: SeenRequest): ServiceAnswer => {
    const { content, embeds = [], ...rest } = request.json()
    if (request.headers['content-type'] !== 'application/json') return { status: 415 }
    const isEmpty = content === undefined && embeds.length === 0
    if (isEmpty || [...(content ?? '')].length > 2_000 || embeds.some(isTooLong))
      return { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } }
    const id = String(1_100_000_000_000_000_000n + BigInt(messages.length))
    messages.push({ id, content, embeds, ...rest, thread: request.query.get('thread_id') })
    return request.query.get('wait') === 'true' ? { body: { id, channel_id: '199737254929760256' } } : { status: 204 }
  }
  const { channel } = await openChannels(t, { settings: { discord_webhook: `${service.url}${WEBHOOK_PATH}` } })
  return { service, messages, discord: channel('discord') }
}

function isTooLong({ title, description, author }: any): boolean {
  const lengths = [title, description, author.name].map(each => [...each].length)
  const [t = 0, d = 0, a = 0] = lengths
  return t > 256 || d > 4_096 || a > 256 || t + d + a > 6_000
}
