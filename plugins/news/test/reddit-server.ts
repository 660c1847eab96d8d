import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

const CREDENTIALS = {
  reddit_client_id: 'client-1',
  reddit_client_secret: 'secret-of-client-1',
  reddit_refresh_token: 'refresh-1',
  reddit_user_agent: 'linux:org.example.news:v1 (by /u/ada)'
}

/**
 * Speaks the parts of the Reddit API that the channel uses: https://www.reddit.com/dev/api (submit, me, listings), and
 * the forms that PRAW 8 and prawcore 4 (PyPI) send and read.
 */
export async function openReddit(t: Test) {
  const posts: Record<string, unknown>[] = []
  const tokens = new Set<string>()
  const service = await openService(t, request => {
    if (request.path === '/api/v1/access_token') return logIn(request)
    if (!tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')) return { status: 401 }
    if (request.headers['user-agent'] !== CREDENTIALS.reddit_user_agent) return { status: 429 }
    if (request.path === '/api/v1/me') return { body: { name: 'ada' } }
    if (request.path === '/user/ada/submitted') return { body: { kind: 'Listing', data: { children: posts } } }
    if (request.path === '/api/submit' && request.method === 'POST') return submit(request)
    return undefined
  })
  const logIn = (request: SeenRequest): ServiceAnswer => {
    const basic = Buffer.from(`${CREDENTIALS.reddit_client_id}:${CREDENTIALS.reddit_client_secret}`).toString('base64')
    if (request.headers.authorization !== `Basic ${basic}`) return { status: 401, body: { error: 401 } }
    const form = request.form()
    if (form.get('grant_type') !== 'refresh_token' || form.get('refresh_token') !== CREDENTIALS.reddit_refresh_token)
      return { status: 400, body: { message: 'Bad Request', error: 400 } }
    const token = `access-${tokens.size + 1}`
    tokens.add(token)
    return { body: { access_token: token, token_type: 'bearer', expires_in: 86_400, scope: 'identity submit history' } }
  }
  const submit = (request: SeenRequest): ServiceAnswer => {
    const form = request.form()
    if (form.get('api_type') !== 'json' || (form.get('title') ?? '') === '') return { status: 400 }
    const id = `t3_p${posts.length + 1}`
    const permalink = `/r/${form.get('sr')}/comments/p${posts.length + 1}/x/`
    const data = {
      name: id,
      subreddit: form.get('sr'),
      title: form.get('title'),
      created_utc: Date.now() / 1_000,
      permalink
    }
    posts.push({ kind: 't3', data: { ...data, url: form.get('url') ?? '', selftext: form.get('text') ?? '' } })
    const answer = { id: id.slice(3), name: id, url: `https://www.reddit.com${permalink}` }
    return { body: { json: { errors: [], data: answer } } }
  }
  const { kernel, channel } = await openChannels(t, {
    settings: { ...CREDENTIALS, reddit_login_base: service.url, reddit_api_base: service.url }
  })
  return { service, posts, tokens, kernel, reddit: channel('reddit') }
}
