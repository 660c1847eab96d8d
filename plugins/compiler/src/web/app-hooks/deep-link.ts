/** Part of `mobile.ts` that implements `@deep_link`. */
export const DEEP_LINK = `type Params = Readonly<Record<string, string>>

interface DeepLinks {
  readonly scheme: string | null
  readonly origin: string | null
  /** \`to\` may return a path. */
  readonly routes: readonly { readonly pattern: string; readonly to: (params: Params) => Promise<unknown> }[]
  /** Called with links that no route matches; null opens the path of the link. */
  readonly onLink: ((link: { readonly url: string }) => Promise<unknown>) | null
  /** Paths of the program at which a browser may start. */
  readonly pages: readonly string[]
}

/** Follows links that open the app, and the link at which a browser starts. */
function startDeepLinks(links: DeepLinks, open: Open): () => void {
  const native = nativeApp()
  if (native === undefined) {
    void follow(location.href, links, open, true)
    return () => {}
  }
  let launched: string | undefined
  const start = async () => {
    const first = await attempt(async () => (await native.getLaunchUrl())?.url, undefined)
    if (first === undefined || launched !== undefined) return
    launched = first
    await follow(first, links, open, false)
  }
  const opened = async (url: string) => {
    // iOS reports the link that launched the app twice: as launch URL and as event.
    const isHandled = launched === url && platform() === 'ios'
    launched = ''
    if (!isHandled) await follow(url, links, open, false)
  }
  const stop = listening(native.addListener('appUrlOpen', ({ url }) => void opened(url)))
  void start()
  return stop
}

async function follow(url: string, links: DeepLinks, open: Open, isStart: boolean): Promise<void> {
  const link = readLink(url, links)
  if (link === null) return
  for (const { pattern, to } of links.routes) {
    const found = matched(pattern, link.path)
    if (found === null) continue
    openPath(await attempt(async () => await to({ ...link.query, ...found, url }), null), open)
    return
  }
  if (isStart && links.pages.some(page => matched(page, link.path) !== null)) return
  const { onLink } = links
  openPath(onLink === null ? link.whole : await attempt(async () => await onLink({ url }), null), open)
}

/** Returns null for an address outside the program. */
function readLink(url: string, { scheme, origin }: DeepLinks) {
  const [, found = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\\/*(.*)$/is.exec(url) ?? []
  const isWeb = /^https?$/i.test(found)
  const address = isWeb ? url : \`https://app.invalid/\${rest}\`
  if (!URL.canParse(address)) return null
  const { origin: from, pathname, search, hash, searchParams } = new URL(address)
  if (isWeb ? from !== origin && from !== location.origin : found.toLowerCase() !== scheme) return null
  return { path: pathname, whole: pathname + search + hash, query: Object.fromEntries(searchParams) }
}

/** Returns the parameters of a path; null if the pattern does not match. */
function matched(pattern: string, path: string): Params | null {
  const [patternParts, pathParts] = [pattern, path].map(each => each.split('/').filter(part => part !== '')) as [string[], string[]]
  if (patternParts.length !== pathParts.length) return null
  const found: [string, string][] = []
  for (const [index, part] of patternParts.entries()) {
    const text = decoded(pathParts[index] ?? '')
    if (part.startsWith(':')) found.push([part.slice(1), text])
    else if (decoded(part) !== text) return null
  }
  return Object.fromEntries(found)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
`
