import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

export const CREDENTIALS = {
  youtube_client_id: 'google-client-1',
  youtube_client_secret: 'google-secret-1',
  youtube_refresh_token: 'google-refresh-1'
}

interface Session {
  readonly bytes: number
  readonly resource: any
  readonly received: Buffer[]
  /** Id of the video that the last byte created. */
  video: string | null
}

/**
 * Speaks the YouTube Data API v3 as in the types of its discovery document (npm @googleapis/youtube 35: Schema$Video,
 * Schema$VideoSnippet, Schema$VideoStatus, videos.insert, channels.list, playlistItems.list, videos.list), the resumable
 * protocol of https://developers.google.com/youtube/v3/guides/using_resumable_upload_protocol, and the token endpoint of
 * https://developers.google.com/identity/protocols/oauth2/web-server#offline.
 */
export async function openYouTube(t: Test) {
  const sessions = new Map<string, Session>()
  const videos: { readonly id: string; readonly sha256: string; readonly snippet: any; readonly status: any }[] = []
  const tokens = new Set<string>()
  const service = await openService(t, request => {
    if (request.path === '/token') return logIn(request)
    if (!tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')) return { status: 401 }
    if (request.path === '/upload/youtube/v3/videos')
      return request.method === 'POST' ? open(request) : receive(request)
    if (request.path === '/youtube/v3/channels')
      return { body: { items: [{ contentDetails: { relatedPlaylists: { uploads: 'UU-1' } } }] } }
    if (request.path === '/youtube/v3/playlistItems' && request.query.get('playlistId') === 'UU-1')
      return { body: { items: videos.map(({ id }) => ({ contentDetails: { videoId: id } })) } }
    if (request.path === '/youtube/v3/videos') {
      const ids = request.query.get('id')?.split(',') ?? []
      return { body: { items: videos.filter(({ id }) => ids.includes(id)) } }
    }
    return undefined
  })
  const logIn = (request: SeenRequest): ServiceAnswer => {
    const form = request.form()
    const isRight =
      form.get('grant_type') === 'refresh_token' &&
      form.get('client_id') === CREDENTIALS.youtube_client_id &&
      form.get('client_secret') === CREDENTIALS.youtube_client_secret &&
      form.get('refresh_token') === CREDENTIALS.youtube_refresh_token
    if (!isRight) return { status: 400, body: { error: 'invalid_grant' } }
    const token = `ya29-access-${tokens.size + 1}`
    tokens.add(token)
    return { body: { access_token: token, expires_in: 3_599, token_type: 'Bearer' } }
  }
  const open = (request: SeenRequest): ServiceAnswer => {
    const resource = request.json()
    if (request.query.get('uploadType') !== 'resumable' || request.query.get('part') !== 'snippet,status')
      return { status: 400, body: { error: { errors: [{ reason: 'invalidPart' }] } } }
    if (
      typeof resource.snippet?.title !== 'string' ||
      /[<>]/.test(resource.snippet.title + resource.snippet.description)
    )
      return { status: 400, body: { error: { errors: [{ reason: 'invalidTitle' }] } } }
    const id = `session-${sessions.size + 1}`
    const bytes = Number(request.headers['x-upload-content-length'])
    sessions.set(id, { bytes, resource, received: [], video: null })
    const address = `http://${request.headers.host}/upload/youtube/v3/videos?uploadType=resumable&upload_id=${id}`
    return { headers: { location: address } }
  }
  const receive = (request: SeenRequest): ServiceAnswer => {
    const session = sessions.get(request.query.get('upload_id') ?? '')
    if (session === undefined) return { status: 404 }
    const have = session.received.reduce((sum, { length }) => sum + length, 0)
    const range = request.headers['content-range'] ?? ''
    const [, start, end, all] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(range) ?? []
    if (Number(all) !== session.bytes)
      return { status: 400, body: { error: { errors: [{ reason: 'badContentRange' }] } } }
    if (start !== undefined && session.video === null) {
      if (Number(start) !== have || Number(end) - Number(start) + 1 !== request.bytes.length)
        return { status: 400, body: { error: { errors: [{ reason: 'badContentRange' }] } } }
      session.received.push(request.bytes)
    }
    const content = Buffer.concat(session.received)
    if (content.length < session.bytes)
      return { status: 308, headers: content.length === 0 ? {} : { range: `bytes=0-${content.length - 1}` } }
    session.video ??= add(session, content)
    return { body: { kind: 'youtube#video', id: session.video } }
  }
  const add = ({ resource }: Session, content: Buffer): string => {
    const id = `video-${videos.length + 1}`
    videos.push({ id, sha256: createHash('sha256').update(content).digest('hex'), ...resource })
    return id
  }
  return { service, sessions, videos, tokens }
}
