import type { Test } from 'tap'
import { openChannels } from './channel-run.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

export const APP_PASSWORD = 'abcd-efgh-ijkl-mnop'
export const DID = 'did:plc:ewvi7nxzyoun6zhxrhs64oiz'

/**
 * Speaks the AT Protocol as in the lexicons of npm @atproto/api 0.21.0: com.atproto.server.createSession and
 * refreshSession, com.atproto.repo.putRecord and getRecord, com.atproto.identity.resolveHandle. Records are checked
 * against the limits of app.bsky.feed.post and app.bsky.richtext.facet. With `swapRecord: null`, a record must not exist.
 */
export async function openBluesky(t: Test, settings: object = {}) {
  const records = new Map<string, any>()
  const logins: string[] = []
  let tokens = 0
  let access = ''
  let refresh = ''
  const session = (): ServiceAnswer => {
    access = `access-jwt-${++tokens}`
    refresh = `refresh-jwt-${tokens}`
    return { body: { did: DID, handle: 'news.example.org', accessJwt: access, refreshJwt: refresh, active: true } }
  }
  const refused = (error: string, status = 400): ServiceAnswer => ({ status, body: { error, message: error } })
  const service = await openService(t, request => {
    const name = request.path.replace('/xrpc/', '')
    if (name === 'com.atproto.server.createSession') {
      const { identifier, password } = request.json()
      logins.push('create')
      const isKnown = identifier === 'news.example.org' && password === APP_PASSWORD
      return isKnown ? session() : refused('AuthenticationRequired', 401)
    }
    const bearer = request.headers.authorization
    if (name === 'com.atproto.server.refreshSession') {
      logins.push('refresh')
      return bearer === `Bearer ${refresh}` ? session() : refused('ExpiredToken')
    }
    if (bearer !== `Bearer ${access}`)
      return refused(/^Bearer access-jwt-\d+$/.test(bearer ?? '') ? 'ExpiredToken' : 'InvalidToken')
    if (name === 'com.atproto.identity.resolveHandle')
      return request.query.get('handle') === 'ada.example.org'
        ? { body: { did: 'did:plc:ada' } }
        : refused('InvalidRequest')
    if (name === 'com.atproto.repo.putRecord' && request.method === 'POST') return put(request)
    if (name === 'com.atproto.repo.getRecord') {
      const value = records.get(request.query.get('rkey') ?? '')
      return value === undefined ? refused('RecordNotFound') : { body: { uri: 'at://', cid: 'b', value } }
    }
    return { status: 404, body: { error: 'XRPCNotSupported' } }
  })
  const put = (request: SeenRequest): ServiceAnswer => {
    const { repo, collection, rkey, record, swapRecord } = request.json()
    if (request.headers['content-type'] !== 'application/json' || repo !== DID) return refused('InvalidRequest')
    if (collection !== 'app.bsky.feed.post' || !/^[2-7a-j][2-7a-z]{12}$/.test(rkey)) return refused('InvalidRequest')
    if (problemOf(record) !== null) return refused('InvalidRecord')
    if (swapRecord === null && records.has(rkey)) return refused('InvalidSwap')
    records.set(rkey, record)
    return { body: { uri: `at://${DID}/${collection}/${rkey}`, cid: 'bafyrei', validationStatus: 'valid' } }
  }
  const { channel } = await openChannels(t, {
    settings: {
      bluesky_handle: 'news.example.org',
      bluesky_app_password: APP_PASSWORD,
      bluesky_service: service.url,
      ...settings
    }
  })
  return {
    service,
    records,
    logins,
    bluesky: channel('bluesky'),
    /** Ends the access token; the refresh token, too, if `completely`. */
    expire(completely = false): void {
      access = 'none'
      if (completely) refresh = 'none'
    }
  }
}

function problemOf(record: any): string | null {
  const bytes = Buffer.from(record.text)
  const graphemes = [...new Intl.Segmenter('und', { granularity: 'grapheme' }).segment(record.text)].length
  if (record.$type !== 'app.bsky.feed.post' || Number.isNaN(Date.parse(record.createdAt))) return 'fields'
  if (bytes.length > 3_000 || graphemes > 300) return 'length'
  for (const { index, features } of record.facets ?? []) {
    const part = bytes.subarray(index.byteStart, index.byteEnd)
    // A facet that begins or ends within a character is not valid UTF-8.
    if (part.length === 0 || !Buffer.from(part.toString('utf8')).equals(part)) return 'facet'
    for (const feature of features)
      if (!/^app\.bsky\.richtext\.facet#(?:link|tag|mention)$/.test(feature.$type)) return 'feature'
  }
  const { embed } = record
  if (embed === undefined) return null
  const { uri, title, description } = embed.external
  return [uri, title, description].every(each => typeof each === 'string') ? null : 'embed'
}
