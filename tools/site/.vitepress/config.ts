import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY as repository } from '../../release/published-manifest.ts'
import { anchorOf } from '../anchors.ts'
import { fromFile } from '../from-file.ts'
import { repositoryLinks } from '../links.ts'
import { API, documentPaths, otherMarkdown, pagePath, ROOT, sidebar } from '../pages.ts'

const documents = documentPaths()
const base = process.env.SVC_DOCS_BASE ?? '/'
const vox = JSON.parse(readFileSync(join(ROOT, 'editors/vscode/syntaxes/vox.tmLanguage.json'), 'utf8'))

export default {
  title: 'svc',
  description: 'Models, agents and small web applications on your own machine',
  lang: 'en',
  // Without it, browsers request /favicon.ico.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: ROOT,
  srcExclude: otherMarkdown(documents),
  rewrites: Object.fromEntries(documents.map(path => [path, pagePath(path)])),
  base,
  outDir: join(ROOT, 'tools/site/dist'),
  cacheDir: join(ROOT, 'tools/site/node_modules/.vitepress'),
  // tools/site/check.ts checks the built pages, with their anchors and images.
  ignoreDeadLinks: true,
  metaChunk: true,
  markdown: {
    languages: [{ ...vox, name: 'vox' }],
    languageAlias: { console: 'shellsession' },
    anchor: { slugify: anchorOf },
    config: (markdown: unknown) =>
      repositoryLinks({ documents: new Set(documents), repository })(
        markdown as Parameters<ReturnType<typeof repositoryLinks>>[0]
      )
  },
  themeConfig: {
    sidebar: sidebar(documents),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } } } }
    },
    nav: [
      { text: 'Guides', link: existsSync(join(ROOT, 'docs/guides/README.md')) ? '/guides/' : '/authoring/ten-minutes' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Repository', link: repository }
    ],
    editLink: {
      pattern: `${repository}/edit/main/:path`,
      text: 'Edit this page'
    }
  },
  transformHead: ({ pageData }: { pageData: { relativePath: string } }) => [
    ['script', {}, fromFile('../'.repeat(pageData.relativePath.split('/').length - 1) || './', base)]
  ],
  transformPageData: ({ filePath }: { filePath: string }) =>
    filePath.startsWith(API) ? { frontmatter: { editLink: false } } : undefined,
  vite: {
    plugins: [
      {
        // The documents are above the folder that has the package, so that it cannot be resolved from them.
        name: 'vue-of-the-site',
        enforce: 'pre',
        resolveId: (id: string, _importer: string | undefined, { ssr }: { ssr?: boolean }) =>
          ssr === true && /^vue(?:\/server-renderer)?$/.test(id) ? { id, external: true } : undefined
      }
    ],
    server: { fs: { allow: [ROOT] } },
    build: { chunkSizeWarningLimit: 4096 }
  }
}
