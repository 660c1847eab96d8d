export interface BrokenLink {
  /** Document that contains the link, relative to the repository. */
  readonly file: string
  /** Line number, from 1. */
  readonly line: number
  readonly target: string
}

const LINK = /\]\(\s{0,4}<?([^()<>\s]{1,1024})>?(?:\s{1,4}["'][^"'\n]{0,256}["'])?\s{0,4}\)/g
const FENCE = /^ {0,3}(?:`{3,}|~{3,})/
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/|#)/i

/** Returns the file links of a Markdown document, with their lines. Skips code and web links. */
export function fileLinks(markdown: string): readonly { readonly line: number; readonly target: string }[] {
  const links: { readonly line: number; readonly target: string }[] = []
  let isCode = false
  for (const [at, line] of markdown.split('\n').entries()) {
    if (FENCE.test(line)) isCode = !isCode
    else if (!isCode && line.includes('](')) {
      for (const [, target = ''] of line.replace(/`[^`]*`/g, '').matchAll(LINK))
        if (!ELSEWHERE.test(target)) links.push({ line: at + 1, target })
    }
  }
  return links
}

/** Returns the path of a link: decoded, without query and fragment. */
export function linkPath(target: string): string {
  const path = target.replace(/[?#].*$/, '')
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
