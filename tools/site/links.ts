/** Links of the documents are relative paths in the repository. On the site they lead to pages, or into the repository. */
import { statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { pagePath, ROOT } from './pages.ts'

/** Parts of markdown-it that the rule uses. */
interface Token {
  readonly type: string
  readonly children: readonly Token[] | null
  content: string
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}
interface MarkdownIt {
  readonly core: {
    readonly ruler: {
      push(
        name: string,
        rule: (state: { tokens: readonly Token[]; env: { path: string; realPath?: string } }) => void
      ): void
    }
  }
}

export interface LinkOptions {
  /** Documents that have a page, relative to the root. */
  readonly documents: ReadonlySet<string>
  /** Address of the repository on the web, without a slash at its end. */
  readonly repository: string
}

/** Returns a plugin for markdown-it that rewrites relative links. Images keep their paths: Vite copies their files. */
export function repositoryLinks({ documents, repository }: LinkOptions): (markdown: MarkdownIt) => void {
  return markdown =>
    markdown.core.ruler.push('repository_links', ({ tokens, env }) => {
      const document = posix.relative(ROOT, env.realPath ?? env.path)
      for (const token of tokens.flatMap(each => [each, ...(each.children ?? [])]))
        if (token.type.startsWith('html_')) token.content = withRelativeImages(token.content)
      for (const token of tokens)
        for (const open of token.children ?? [])
          if (open.type === 'link_open')
            open.attrSet('href', siteTarget(open.attrGet('href') ?? '', document, documents, repository))
    })
}

/** Vite takes an image of a tag for a package if its path does not begin with a dot. */
export function withRelativeImages(html: string): string {
  return html.replaceAll(/\b(src|srcset)="(?![./]|[a-z]+:)/g, '$1="./')
}

/** Returns the target of a link on the site. */
export function siteTarget(href: string, document: string, documents: ReadonlySet<string>, repository: string): string {
  if (href === '' || href.startsWith('#') || /^[a-z][a-z+.-]*:/i.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const file = posix.normalize(posix.join(posix.dirname(document), decodeURI(path))).replace(/\/$/, '')
  const after = anchor === undefined ? '' : `#${anchor}`
  for (const page of [file, posix.join(file, 'README.md')])
    if (documents.has(page)) return `/${pagePath(page).replace(/(^|\/)index\.md$/, '$1')}${after}`
  const kind = statSync(join(ROOT, file), { throwIfNoEntry: false })?.isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${file}${after}`
}
