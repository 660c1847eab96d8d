import { spansOf } from '../text/addresses.ts'

/** Part of a text with a meaning, as in the lexicon `app.bsky.richtext.facet`. */
export interface Facet {
  /** Positions in bytes of UTF-8; the end is exclusive. */
  readonly index: { readonly byteStart: number; readonly byteEnd: number }
  readonly features: readonly Readonly<Record<string, string>>[]
}

const MAX_TAG_GRAPHEMES = 64
const MAX_TAG_BYTES = 640
/** Accounts that are looked up at most for one post. */
const MAX_MENTIONS = 20

/** Returns the facets of the addresses, hashtags and mentions of a text. A mention without an account is plain text. */
export async function facetsOf(
  text: string,
  didOf: (handle: string) => Promise<string | null>
): Promise<readonly Facet[]> {
  const facets: Facet[] = []
  let mentions = 0
  for (const { kind, start, end } of spansOf(text)) {
    const part = text.slice(start, end)
    if (kind === 'mention' && ++mentions > MAX_MENTIONS) continue
    const feature = kind === 'url' ? linkTo(part) : kind === 'hashtag' ? tagOf(part) : await mentionOf(part, didOf)
    if (feature === null) continue
    const byteStart = Buffer.byteLength(text.slice(0, start))
    facets.push({ index: { byteStart, byteEnd: byteStart + Buffer.byteLength(part) }, features: [feature] })
  }
  return facets
}

function linkTo(address: string): Readonly<Record<string, string>> | null {
  const uri = /^https?:\/\//i.test(address) ? address : `https://${address}`
  return URL.canParse(uri) ? { $type: 'app.bsky.richtext.facet#link', uri } : null
}

function tagOf(hashtag: string): Readonly<Record<string, string>> | null {
  const tag = hashtag.slice(1)
  if ([...tag].length > MAX_TAG_GRAPHEMES || Buffer.byteLength(tag) > MAX_TAG_BYTES) return null
  return { $type: 'app.bsky.richtext.facet#tag', tag }
}

async function mentionOf(
  mention: string,
  didOf: (handle: string) => Promise<string | null>
): Promise<Readonly<Record<string, string>> | null> {
  const handle = mention.slice(1)
  if (!/^[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/i.test(handle)) return null
  const did = await didOf(handle)
  return did === null ? null : { $type: 'app.bsky.richtext.facet#mention', did }
}
