import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { figuresIn, plotsOf, readResults, withoutPlots } from '../../bench/results.ts'
import { pictures } from '../../tools/pictures.ts'
import { brokenLinks } from '../../tools/site/check.ts'
import { siteTarget, withRelativeImages } from '../../tools/site/links.ts'
import { contentsProblems, documentPaths, pagePath } from '../../tools/site/pages.ts'
import { ROOT } from './error-codes.ts'

t.test('docs/contents.json lists documents that exist, and covers all of them', t => {
  t.same(contentsProblems(), [])
  t.end()
})

t.test('no two documents have the same page', t => {
  const pages = documentPaths().map(pagePath)
  t.same(
    pages.filter((page, at) => pages.indexOf(page) !== at),
    []
  )
  t.end()
})

t.test('a link between documents leads to a page, and another one into the repository', t => {
  const documents = new Set(['README.md', 'docs/console.md', 'docs/authoring/README.md', 'plugins/http/README.md'])
  const target = (href: string) => siteTarget(href, 'docs/console.md', documents, 'https://forge.example/svc')
  t.equal(target('../plugins/http/README.md#routes'), '/plugins/http.md#routes')
  t.equal(target('authoring/'), '/authoring/', 'a folder leads to its README')
  t.equal(target('../README.md'), '/')
  t.equal(target('#keyboard'), '#keyboard')
  t.equal(target('https://example.org/'), 'https://example.org/')
  t.equal(target('../kernel/src/core/'), 'https://forge.example/svc/tree/main/kernel/src/core')
  t.equal(target('../LICENSE'), 'https://forge.example/svc/blob/main/LICENSE')
  t.end()
})

t.test('images in tags are files next to the document, not packages', t => {
  const tags = (prefix: string) => `<source srcset="${prefix}a/b.webp"> <img src="${prefix}c.svg">`
  t.equal(withRelativeImages(tags('')), tags('./'))
  for (const prefix of ['./', '../', '/', 'https://example.org/'])
    t.equal(withRelativeImages(tags(prefix)), tags(prefix))
  t.end()
})

t.test('the check of a built site finds broken links, anchors, images and foreign resources', t => {
  const page = (body: string) => `<html><body><h2 id="top">Top</h2>${body}</body></html>`
  const folder = t.testdir({
    'index.html': page(
      '<a href="/docs/a/b.html#top">1</a><a href="/docs/a/">2</a><a href="https://example.org/">3</a>'
    ),
    a: {
      'index.html': page('<a href="/docs/gone.html">1</a><img src="/docs/a/none.svg"><img src="here.svg">'),
      'b.html': page(
        '<a href="#top">1</a><a href="/docs/#bottom">2</a><script src="https://cdn.example/x.js"></script>'
      ),
      'here.svg': '<svg/>',
      'style.css': '@import "https://fonts.example/f.css"; body { background: url("data:image/png;base64,") }'
    }
  })
  t.same(brokenLinks(folder, '/docs/').sort(), [
    'a/b.html: /docs/#bottom: no such anchor',
    'a/b.html: https://cdn.example/x.js: loaded from another host',
    'a/index.html: /docs/a/none.svg: no such file',
    'a/index.html: /docs/gone.html: no such page',
    'a/style.css: https://fonts.example/f.css: loaded from another host'
  ])
  t.end()
})

t.test('docs/pictures is what tools/pictures.ts draws', t => {
  for (const [path, text] of pictures()) t.equal(readFileSync(join(ROOT, path), 'utf8'), text, path)
  t.end()
})

t.test('docs/plots is what the bench draws from bench/results, and docs/performance.md shows all of it', t => {
  const shown = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8')
  const files = readdirSync(join(ROOT, 'bench/results'))
  for (const section of files.map(file => file.replace(/\.json$/, ''))) {
    const results = readResults(section)
    for (const [name, svg] of results === undefined ? [] : plotsOf(results)) {
      t.equal(readFileSync(join(ROOT, 'docs/plots', name), 'utf8'), svg, name)
      t.ok(shown.includes(`](plots/${name})`), `${name} is shown`)
    }
  }
  t.ok(files.length > 0)
  t.end()
})

t.test('the recorded figures are those in the tables of docs/performance.md', t => {
  const document = withoutPlots(readFileSync(join(ROOT, 'docs/performance.md'), 'utf8'))
  const rows = figuresIn(document).map(({ what, value }) => `${what}: ${value.median}`)
  const recorded = readdirSync(join(ROOT, 'bench/results')).flatMap(
    file => readResults(file.replace(/\.json$/, ''))?.figures.map(({ what, value }) => `${what}: ${value.median}`) ?? []
  )
  t.same(
    recorded.filter(row => !rows.includes(row)),
    []
  )
  t.end()
})
