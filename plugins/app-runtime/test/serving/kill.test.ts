import t from 'tap'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { serveApp } from './served-app.ts'

const SOURCE = `
@table
type Entry { key: str }

@mutation
fn enter(key: str) to Result[int] {
    db.Entry.insert({ key: key })?
    db.Entry.insert({ key: key + "'" })
}

@query
fn keys() to List[str] { db.Entry.all().map(fn(entry) entry.key) }
`

t.test('a killed process loses no acknowledged mutation, and leaves none half committed', async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE })
  const acknowledged: string[] = []
  let next = 0
  for (const killAfter of [137, 412]) {
    const app = await serveApp(t, '', {}, folder)
    const client = async (): Promise<void> => {
      while (acknowledged.length < killAfter) {
        const key = String(next++)
        const { status } = await app.post('/api/mutation/enter', { key })
        if (status === 200) acknowledged.push(key)
        else t.fail(`${key} returned ${status}`)
      }
    }
    // Other calls are running when the process is killed.
    await Promise.any(Array.from({ length: 8 }, () => client().catch(() => new Promise<void>(() => undefined))))
    t.equal(await app.stop('SIGKILL'), 'SIGKILL')
  }
  const app = await serveApp(t, '', {}, folder)
  const { body } = await app.get('/api/query/keys')
  const keys = new Set(body as string[])
  t.same(
    acknowledged.filter(key => !keys.has(key) || !keys.has(`${key}'`)),
    [],
    'each acknowledged mutation is stored'
  )
  t.same(
    [...keys].filter(key => !keys.has(key.endsWith("'") ? key.slice(0, -1) : `${key}'`)),
    [],
    'each mutation is complete'
  )
})
