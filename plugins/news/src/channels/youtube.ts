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
import { RefreshTokenLogin } from '../credentials/oauth.ts'
import { youtubeSecrets } from '../settings/youtube.ts'
import { cutText } from '../text/cut.ts'
import { codePoints, utf8Bytes } from '../text/meters.ts'
import { addressOf, listAt, textAt } from './answer.ts'
import { channelText, summaryWithLink } from './derived-text.ts'
import { CLOCK_SKEW_MS, checkComplete, lookOrGiveUp, outcomeUnknown } from './earlier-post.ts'
import type { ChannelParts } from './parts.ts'
import { openSession, sealSession } from './youtube-session.ts'
import { refusalOf, type UploadResult, uploadVideo } from './youtube-upload.ts'
import { VideoFile } from './youtube-video.ts'

const SERVICE = 'YouTube'
const TITLE = codePoints(100)
/** YouTube counts the bytes of a description. */
const DESCRIPTION = utf8Bytes(5_000)
/** After this time, the list of uploads of a channel has each completed upload. */
const SETTLE_MS = 3_600_000
/** Uploads of one list; the most that YouTube gives. */
const LIST = 50

interface Options {
  readonly video: string
  readonly sha3_256: string
  readonly title?: string
  readonly description?: string
  readonly privacy?: 'private' | 'unlisted' | 'public'
  readonly category_id?: number
  readonly made_for_kids?: boolean
  readonly notify_subscribers?: boolean
  readonly tags?: readonly string[]
}

const OPTIONS = {
  type: 'object',
  properties: {
    video: { type: 'string', minLength: 1, maxLength: 1_000 },
    sha3_256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    title: { type: 'string', minLength: 1, maxLength: 100 },
    description: { type: 'string', minLength: 1, maxLength: 5_000 },
    privacy: { enum: ['private', 'unlisted', 'public'] },
    category_id: { type: 'integer', minimum: 1, maximum: 999 },
    made_for_kids: { type: 'boolean' },
    notify_subscribers: { type: 'boolean' },
    tags: { type: 'array', maxItems: 20, items: { type: 'string', minLength: 1, maxLength: 20, pattern: '^[^<>,"]+$' } }
  },
  required: ['video', 'sha3_256'],
  additionalProperties: false
} as const

interface Connection {
  readonly send: (request: RemoteRequest) => Promise<RemoteAnswer>
  readonly base: string
  readonly refreshToken: string
  /** Receives the number of bytes that the server has. */
  readonly onSent: (bytes: number) => void
}

/** Uploads a video file of the project. */
export function youtubeChannel(parts: ChannelParts): NewsChannel {
  const credentials = new ChannelCredentials(parts)
  const login = new RefreshTokenLogin()
  return {
    name: 'youtube',
    summary: 'Uploads a video of the project to YouTube, private by default',
    live: true,
    options: OPTIONS,
    retry: 'aggressive',
    problem: () => credentials.problem(Object.values(youtubeSecrets)),
    async preview(post) {
      return [channelText('title', titleOf(post), TITLE), channelText('description', descriptionOf(post), DESCRIPTION)]
    },
    async send(post, context) {
      const { video: path, sha3_256 } = post.options as unknown as Options
      const video = await VideoFile.open(parts.projectRoot, path, sha3_256, context.signal)
      try {
        const onSent = (bytes: number): void =>
          parts.log.info('a video is uploaded', { news: post.id, sent_bytes: bytes, total_bytes: video.bytes })
        const connection = { ...(await connect(parts, credentials, login, context)), onSent }
        const resumed = await resumeUpload(connection, video, context)
        return (
          resumed ?? (await startUpload(connection, video, post, parts.settings().video_default_category_id, context))
        )
      } finally {
        await video.close()
      }
    }
  }
}

async function connect(
  parts: ChannelParts,
  credentials: ChannelCredentials,
  login: RefreshTokenLogin,
  { http, signal }: ChannelContext
): Promise<Omit<Connection, 'onSent'>> {
  const [clientId, clientSecret, refreshToken] = await Promise.all([
    credentials.read(youtubeSecrets.clientId, signal),
    credentials.read(youtubeSecrets.clientSecret, signal),
    credentials.read(youtubeSecrets.refreshToken, signal)
  ])
  const { youtube_api_base: base, youtube_login_base: loginBase } = parts.settings()
  const grant = { service: SERVICE, clientAuth: 'body', clientId, clientSecret, refreshToken } as const
  const tokenUrl = addressOf(loginBase, '/token')
  const client = http.named(SERVICE)
  return { base, refreshToken, send: request => login.send({ ...grant, tokenUrl }, client, request, signal) }
}

/** Continues the upload of an earlier attempt. Returns null if there is none, or if it cannot have created a video. */
async function resumeUpload(
  connection: Connection,
  video: VideoFile,
  context: ChannelContext
): Promise<ChannelReceipt | null> {
  const sealed = textAt(context.checkpoint, 'session')
  if (sealed === null) return null
  const session = openSession(sealed, connection.refreshToken, context.attemptKey)
  const completing = context.checkpoint?.completing === true
  const result =
    session === null ? { id: null, mayExist: completing } : await upload(connection, session, true, video, context)
  if (result.id !== null) return receipt(result.id)
  // The session has ended, or belongs to other credentials. Without its last bytes it created nothing.
  if (!result.mayExist) return null
  const found = await findVideo(connection, context)
  if (found !== null) return receipt(found)
  const sentAt = Number(context.checkpoint?.sent_at_ms ?? 0)
  if (Date.now() - sentAt >= SETTLE_MS) return null
  throw outcomeUnknown(SERVICE, 'the upload has ended, and its video is not in the list of the channel')
}

async function startUpload(
  connection: Connection,
  video: VideoFile,
  post: NewsPost,
  defaultCategory: number,
  context: ChannelContext
): Promise<ChannelReceipt> {
  const { notify_subscribers = false } = post.options as unknown as Options
  const query = `uploadType=resumable&part=snippet,status&notifySubscribers=${notify_subscribers}`
  const answer = await connection.send({
    method: 'POST',
    url: addressOf(connection.base, `/upload/youtube/v3/videos?${query}`),
    headers: {
      'content-type': 'application/json; charset=UTF-8',
      'x-upload-content-length': String(video.bytes),
      'x-upload-content-type': video.type
    },
    body: JSON.stringify(resourceOf(post, defaultCategory, context.attemptKey)),
    // A session without bytes creates nothing.
    repeatable: true,
    accept: [400, 403]
  })
  if (answer.status >= 400) throw refusalOf(answer)
  const session = sessionOf(answer, connection.base)
  await context.saveCheckpoint(checkpointOf(connection, session, { sentBytes: 0, completing: false }, context))
  const { id } = await upload(connection, session, false, video, context)
  if (id !== null) return receipt(id)
  throw new RemoteFailure(`${SERVICE}: the server ended the upload; try again`, {
    failureClass: 'transient',
    code: 'upload_ended',
    outcomeUnknown: true
  })
}

function upload(
  connection: Connection,
  session: string,
  resumed: boolean,
  video: VideoFile,
  context: ChannelContext
): Promise<UploadResult> {
  return uploadVideo({
    send: connection.send,
    session,
    video,
    resumed,
    mayBeComplete: resumed && context.checkpoint?.completing === true,
    signal: context.signal,
    onProgress(sentBytes, completing) {
      connection.onSent(sentBytes)
      return context.saveCheckpoint(checkpointOf(connection, session, { sentBytes, completing }, context))
    }
  })
}

interface UploadState {
  readonly sentBytes: number
  /** Whether the last chunk may have been sent. */
  readonly completing: boolean
}

function checkpointOf(
  { refreshToken }: Connection,
  session: string,
  { sentBytes, completing }: UploadState,
  { attemptKey }: ChannelContext
): Readonly<Record<string, unknown>> {
  const sealed = sealSession(session, refreshToken, attemptKey)
  return { session: sealed, sent_bytes: sentBytes, completing, sent_at_ms: Date.now() }
}

/** Returns the address of the upload. It receives the access token, so that it must have the origin of the API. */
function sessionOf({ headers }: RemoteAnswer, base: string): string {
  const address = headers.get('location') ?? ''
  if (URL.canParse(address) && new URL(address).origin === new URL(base).origin) return address
  throw new RemoteFailure(`${SERVICE}: the server gives no address for the upload at its own host; try again later`, {
    failureClass: 'fatal',
    code: 'answer_invalid'
  })
}

/** A `video` resource of the YouTube Data API v3. */
function resourceOf(post: NewsPost, defaultCategory: number, attemptKey: string): object {
  const { privacy = 'private', category_id, made_for_kids = false, tags = [] } = post.options as unknown as Options
  return {
    snippet: {
      title: titleOf(post),
      description: descriptionOf(post),
      categoryId: String(category_id ?? defaultCategory),
      tags: [...tags, tagOf(attemptKey)]
    },
    status: { privacyStatus: privacy, selfDeclaredMadeForKids: made_for_kids }
  }
}

/** Tag by which a video is found again. */
function tagOf(attemptKey: string): string {
  return `svc-${attemptKey.slice(0, 16)}`
}

function titleOf(post: NewsPost): string {
  const { title } = post.options as unknown as Options
  return cutText(withoutBrackets(title ?? post.title), { meters: [TITLE] })
}

function descriptionOf(post: NewsPost): string {
  const { description } = post.options as unknown as Options
  if (description !== undefined) return cutText(withoutBrackets(description), { meters: [DESCRIPTION] })
  return summaryWithLink(withoutBrackets(post.summary), post.link, [DESCRIPTION])
}

/** YouTube refuses `<` and `>`. */
function withoutBrackets(text: string): string {
  return text.replace(/</g, '‹').replace(/>/g, '›')
}

/** Looks for the tag in the last uploads of the channel. */
function findVideo({ send, base }: Connection, { attemptKey, checkpoint }: ChannelContext): Promise<string | null> {
  const read = async (path: string): Promise<unknown> =>
    (await send({ method: 'GET', url: addressOf(base, `/youtube/v3/${path}`) })).json()
  return lookOrGiveUp(SERVICE, 'an earlier attempt may have uploaded the video', async () => {
    const channels = listAt(await read('channels?part=contentDetails&mine=true'), 'items')
    const playlist = textAt(channels, 0, 'contentDetails', 'relatedPlaylists', 'uploads')
    if (playlist === null) throw outcomeUnknown(SERVICE, 'the account has no channel whose uploads could be read')
    const list = `playlistItems?part=contentDetails&maxResults=${LIST}&playlistId=${encodeURIComponent(playlist)}`
    const ids = listAt(await read(list), 'items').flatMap(each => textAt(each, 'contentDetails', 'videoId') ?? [])
    if (ids.length === 0) return null
    const videos = listAt(await read(`videos?part=snippet&id=${ids.map(encodeURIComponent).join(',')}`), 'items')
    const found = videos.find(each => listAt(each, 'snippet', 'tags').includes(tagOf(attemptKey)))
    if (found !== undefined) return textAt(found, 'id')
    const timeOf = (id: string): number => {
      const video = videos.find(each => textAt(each, 'id') === id)
      return Date.parse(textAt(video, 'snippet', 'publishedAt') ?? '')
    }
    checkComplete(SERVICE, ids.map(timeOf), LIST, Number(checkpoint?.sent_at_ms ?? 0) - CLOCK_SKEW_MS)
    return null
  })
}

function receipt(id: string): ChannelReceipt {
  return { externalId: id, url: `https://www.youtube.com/watch?v=${id}` }
}
