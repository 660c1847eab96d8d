import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { args, serveApp } from './served-app.ts'

const SOURCE = `
@table type Author { name: str }
@table
type Post {
    title: str
    likes: int
    author: Id[Author]
}

type PostWithAuthor { _id: int, title: str, author: Option[Author] }
type LikesOfAuthor { author: int, posts: int, likes: int }

@mutation
fn fill() to int {
    let ann = db.Author.insert({ name: "Ann" })
    for n in range(0, 5) { db.Post.insert({ title: "post " + str(n), likes: n, author: ann }) }
    db.Post.count()
}

@query
fn posts(cursor: Option[str]) to Page[Post] {
    db.Post.all().order_by("likes", "desc").page(2, cursor)
}

@query
fn pages(size: int, cursor: Option[str]) {
    db.Post.all().page(size, cursor)
}

@query
fn with_authors() to List[PostWithAuthor] {
    db.Post.where({ likes: { gte: 4 } }).include("author")
}

@query
fn likes() to List[LikesOfAuthor] {
    db.Post.all().group_by("author").aggregate({ posts: { count: true }, likes: { sum: "likes" } })
}

@query
fn most() to Option[int] { db.Post.all().max("likes") }
`

/** Checks a module with the strict compiler of TypeScript. Returns its messages. */
function typeErrors(text: string): string {
  const folder = mkdtempSync(join(import.meta.dirname, 'client-'))
  try {
    writeFileSync(join(folder, 'client.ts'), text)
    const flags = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--lib',
      'es2022,dom'
    ]
    execFileSync('npx', ['tsc', ...flags, join(folder, 'client.ts')], { encoding: 'utf8', stdio: 'pipe' })
    return ''
  } catch (error) {
    return String((error as { stdout?: string }).stdout)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

t.test('pages, joins and aggregates are served with their types', async t => {
  const app = await serveApp(t, SOURCE)
  t.same((await app.post('/api/mutation/fill', {})).body, 5)

  const titles: string[] = []
  let cursor: string | null = null
  do {
    const path: string = `/api/query/posts${args({ cursor })}`
    const { status, body } = await app.get(path)
    t.equal(status, 200)
    const page = body as { items: { title: string }[]; next: string | null }
    titles.push(...page.items.map(({ title }) => title))
    cursor = page.next
  } while (cursor !== null)
  t.same(titles, ['post 4', 'post 3', 'post 2', 'post 1', 'post 0'])

  t.match(await app.get(`/api/query/posts${args({ cursor: 'forged' })}`), {
    status: 400,
    body: { code: 'RUN_CURSOR', error: /the cursor does not belong to this query/ }
  })
  t.match(await app.get(`/api/query/pages${args({ size: 1 })}`), {
    status: 200,
    body: { items: [{ title: 'post 0' }] }
  })
  t.same((await app.get('/api/query/with_authors')).body, [
    { _id: 5, title: 'post 4', author: { _id: 1, name: 'Ann' } }
  ])
  t.same((await app.get('/api/query/likes')).body, [{ author: 1, posts: 5, likes: 10 }])
  t.same((await app.get('/api/query/most')).body, 4)

  const client = String((await app.get('/api/client.ts')).body)
  t.match(client, /export interface Page<T> \{\s+readonly items: readonly T\[\]\s+readonly next: string \| null/)
  t.match(client, /Page<Post>/)
  t.equal(typeErrors(client), '')
  const { body: document } = await app.get('/openapi.json')
  t.match(JSON.stringify(document), /"next":\{[^}]*"string"/)
})
