import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

export const TWITTER_TOKEN = 'x-user-access-token-1'
const ME = '2244994945'

export interface Tweet {
  readonly id: string
  readonly text: string
  readonly created_at: string
  readonly entities?: { readonly urls: readonly { readonly url: string; readonly expanded_url: string }[] }
  readonly replyTo?: string
}

/**
 * Speaks the API of X, version 2: bodies as in the types SendTweetV2Params, TweetV2 and UserV2 of npm twitter-api-v2
 * 1.29.1. Like X, it replaces addresses by those of its link service, escapes `&`, `<` and `>`, and refuses a text that
 * the account has posted with 403 and the detail that is cited at https://github.com/plhery/node-twitter-api-v2/issues/469.
 */
export async function openTwitter(t: Test, settings: object = {}) {
  const tweets: Tweet[] = []
  let ids = 1_800_000_000_000_000_000n
  const service = await openService(t, request => {
    if (request.headers.authorization !== `Bearer ${TWITTER_TOKEN}`)
      return { status: 401, body: { title: 'Unauthorized', type: 'about:blank', status: 401, detail: 'Unauthorized' } }
    if (request.method === 'POST' && request.path === '/2/tweets') return create(request)
    if (request.path === '/2/users/me') return { body: { data: { id: ME, name: 'News', username: 'news' } } }
    if (request.path === `/2/users/${ME}/tweets`) return list(request)
    return undefined
  })
  const create = (request: SeenRequest): ServiceAnswer => {
    if (request.headers['content-type'] !== 'application/json') return { status: 415 }
    const { text, reply } = request.json() as { text: string; reply?: { in_reply_to_tweet_id: string } }
    if (typeof text !== 'string' || text === '') return { status: 400, body: { title: 'Invalid Request', status: 400 } }
    const replyTo = reply?.in_reply_to_tweet_id
    if (replyTo !== undefined && !tweets.some(({ id }) => id === replyTo)) return { status: 400 }
    const stored = shorten(text)
    if (tweets.some(each => sameText(each, stored) && each.replyTo === replyTo))
      return {
        status: 403,
        body: {
          detail: 'You are not allowed to create a Tweet with duplicate content.',
          type: 'about:blank',
          title: 'Forbidden',
          status: 403
        }
      }
    const tweet = { ...stored, id: String(++ids), created_at: new Date().toISOString(), replyTo }
    tweets.push(tweet as Tweet)
    return { status: 201, body: { data: { id: tweet.id, text: tweet.text, edit_history_tweet_ids: [tweet.id] } } }
  }
  const list = ({ query }: SeenRequest): ServiceAnswer => {
    const since = query.get('start_time')
    if (since !== null && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(since)) return { status: 400 }
    const found = tweets.filter(({ created_at }) => since === null || Date.parse(created_at) >= Date.parse(since))
    const count = Number(query.get('max_results'))
    if (!(count >= 5 && count <= 100)) return { status: 400 }
    const start = Number(query.get('pagination_token') ?? 0)
    const data = found.reverse().slice(start, start + count)
    const more = start + count < found.length ? { next_token: String(start + count) } : {}
    return { body: { data, meta: { result_count: data.length, ...more } } }
  }
  const { channel } = await openChannels(t, {
    settings: { twitter_token: TWITTER_TOKEN, twitter_api_base: service.url, ...settings }
  })
  return { service, tweets, twitter: channel('twitter') }
}

function shorten(text: string): Pick<Tweet, 'text' | 'entities'> {
  const urls: { url: string; expanded_url: string }[] = []
  const short = text.replace(/https?:\/\/\S+/g, expanded_url => {
    const url = `https://t.co/${Buffer.from(expanded_url).toString('hex').slice(-10)}`
    urls.push({ url, expanded_url })
    return url
  })
  const escaped = short.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return urls.length === 0 ? { text: escaped } : { text: escaped, entities: { urls } }
}

function sameText(a: Pick<Tweet, 'text' | 'entities'>, b: Pick<Tweet, 'text' | 'entities'>): boolean {
  return a.text === b.text && JSON.stringify(a.entities) === JSON.stringify(b.entities)
}
