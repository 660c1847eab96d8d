/** Checks the pages of the built site: links, anchors and images, and that no page loads anything from elsewhere. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

interface HtmlPage {
  readonly links: readonly string[]
  readonly resources: readonly string[]
  readonly anchors: ReadonlySet<string>
}

/** Returns a line for each broken link, missing image and foreign resource of the pages below a folder. */
export function brokenLinks(folder: string, base: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const pages = new Map(
    files.filter(file => file.endsWith('.html')).map(file => [file, readPage(readFileSync(join(folder, file), 'utf8'))])
  )
  const problems: string[] = []
  for (const [file, { links, resources }] of pages) {
    for (const link of new Set(links)) {
      const problem = linkProblem(link, file)
      if (problem !== undefined) problems.push(`${file}: ${link}: ${problem}`)
    }
    for (const resource of new Set(resources)) {
      if (isForeign(resource)) problems.push(`${file}: ${resource}: loaded from another host`)
      else if (!resource.startsWith('data:') && !existsSync(join(folder, pathOf(resource, file))))
        problems.push(`${file}: ${resource}: no such file`)
    }
  }
  for (const file of files.filter(name => name.endsWith('.css')))
    for (const [, target = ''] of readFileSync(join(folder, file), 'utf8').matchAll(
      /(?:url\(|@import\s+)["']?([^"')]+)/g
    ))
      if (isForeign(target)) problems.push(`${file}: ${target}: loaded from another host`)
  return problems

  function linkProblem(link: string, from: string): string | undefined {
    if (/^[a-z][a-z+.-]*:|^\/\//i.test(link)) return undefined
    const [path = '', anchor = ''] = decodeURI(link).split('#')
    let target = path === '' ? from : pathOf(path, from)
    if (target === '' || target.endsWith('/')) target += 'index.html'
    const page = pages.get(target)
    if (page === undefined)
      return statSync(join(folder, target), { throwIfNoEntry: false })?.isFile() ? undefined : 'no such page'
    return anchor === '' || page.anchors.has(anchor) ? undefined : 'no such anchor'
  }

  /** Returns the path below the folder. */
  function pathOf(target: string, from: string): string {
    if (target.startsWith(base)) return target.slice(base.length)
    return posix.join(posix.dirname(from), target)
  }
}

function readPage(html: string): HtmlPage {
  const attribute = (pattern: RegExp) =>
    [...html.matchAll(pattern)].map(([, value = '']) => value.replaceAll('&amp;', '&'))
  return {
    links: attribute(/<a\s[^>]*?\bhref="([^"]*)"/g),
    resources: [
      ...attribute(/<(?:img|script|source|iframe|video)\s[^>]*?\bsrc(?:set)?="([^"]*)"/g),
      ...attribute(/<link\s(?=[^>]*\brel="[^"]*(?:stylesheet|preload|icon)[^"]*")[^>]*?\bhref="([^"]*)"/g)
    ],
    anchors: new Set(attribute(/\sid="([^"]*)"/g))
  }
}

function isForeign(target: string): boolean {
  return /^(?:https?:)?\/\//.test(target)
}
