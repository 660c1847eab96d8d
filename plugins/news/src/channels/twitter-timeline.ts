import { type RemoteAnswer, RemoteFailure, type RemoteRequest } from '@svc/contracts'
import { spansOf } from '../text/addresses.ts'
import { answerIncomplete, listAt, textAt } from './answer.ts'

export type TwitterSend = (
  request: Omit<RemoteRequest, 'url'> & { readonly path: string; readonly query?: Readonly<Record<string, string>> }
) => Promise<RemoteAnswer>

/** Posts of one answer; the most that X gives. */
const PAGE = 100
/** Answers that are read at most to find a post. */
const MAX_PAGES = 5

export interface Search {
  /** Id of the post, or null. */
  readonly id: string | null
  /** Whether all posts since the time were read. */
  readonly isComplete: boolean
}

/**
 * Looks for the account's post with this text. X replaces addresses by those of its link service and
 * escapes three characters, so that texts are compared without addresses, and addresses by their originals.
 */
export async function findTweet(send: TwitterSend, text: string, sinceMs: number): Promise<Search> {
  const me = textAt((await send({ method: 'GET', path: '/2/users/me' })).json(), 'data', 'id')
  if (me === null || !/^\d{1,25}$/.test(me)) throw answerIncomplete('X', 'id of the account')
  const wanted = shapeOf(text)
  let next: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await send({
      method: 'GET',
      path: `/2/users/${me}/tweets`,
      query: {
        max_results: String(PAGE),
        'tweet.fields': 'created_at,entities,note_tweet',
        ...(sinceMs > 0 ? { start_time: `${new Date(sinceMs).toISOString().slice(0, 19)}Z` } : {}),
        ...(next === null ? {} : { pagination_token: next })
      }
    })
    const value = answer.json()
    const id = textAt(
      listAt(value, 'data').find(each => sameShape(wanted, tweetShape(each))),
      'id'
    )
    next = textAt(value, 'meta', 'next_token')
    if (id !== null || next === null) return { id, isComplete: next === null }
  }
  return { id: null, isComplete: false }
}

interface Shape {
  /** Text with a placeholder for each address. */
  readonly words: string
  readonly urls: readonly string[]
}

function shapeOf(text: string): Shape {
  const spans = spansOf(text).filter(({ kind }) => kind === 'url')
  return { words: withoutAddresses(text, spans), urls: spans.map(({ start, end }) => text.slice(start, end)) }
}

function tweetShape(tweet: unknown): Shape {
  const note = textAt(tweet, 'note_tweet', 'text')
  const text = unescapeHtml(note ?? textAt(tweet, 'text') ?? '')
  const entities = note === null ? listAt(tweet, 'entities', 'urls') : listAt(tweet, 'note_tweet', 'entities', 'urls')
  const originals = new Map(
    entities.flatMap(each => {
      const short = textAt(each, 'url')
      return short === null ? [] : [[short, textAt(each, 'expanded_url') ?? short] as const]
    })
  )
  const { words, urls } = shapeOf(text)
  return { words, urls: urls.map(url => originals.get(url) ?? url) }
}

function sameShape(a: Shape, b: Shape): boolean {
  return a.words === b.words && a.urls.length === b.urls.length && a.urls.every((url, n) => sameUrl(url, b.urls[n]))
}

/** X adds a scheme to an address without one. */
function sameUrl(a: string, b: string | undefined): boolean {
  const bare = (url: string): string => url.replace(/^https?:\/\//i, '').replace(/\/$/, '')
  return b !== undefined && bare(a) === bare(b)
}

function withoutAddresses(text: string, spans: readonly { readonly start: number; readonly end: number }[]): string {
  let result = ''
  let at = 0
  for (const { start, end } of spans) {
    result += `${text.slice(at, start)}\u0000`
    at = end
  }
  return (result + text.slice(at)).normalize('NFC').trim()
}

function unescapeHtml(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

/** Returns the failure of a 403 answer of X other than a duplicate. */
export function forbidden(): RemoteFailure {
  return new RemoteFailure('X: the server answered 403; check the token, its scopes and the plan of the account', {
    failureClass: 'auth',
    code: 'http_403',
    httpStatus: 403
  })
}
