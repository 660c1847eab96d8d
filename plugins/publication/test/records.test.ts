import { manifestDigest } from '@svc/contracts'
import t from 'tap'
import { content, open } from './kit.ts'

const ANN = { name: 'ann', role: 'human' } as const
const BOB = { name: 'bob', role: 'human' } as const

t.test('a publication is a draft until two people approved its digest', async t => {
  const { records } = await open(t)
  const manifest = await records.prepare(content())
  t.match(manifest, { version: 1, state: 'draft', content_sha3_256: manifestDigest(content()) })
  const { content_sha3_256: digest } = manifest
  t.match(await records.approve('study-1', digest, ANN), { complete: false, isNew: true })
  t.match(await records.approve('study-1', digest, ANN), { complete: false, isNew: false })
  t.equal((await records.get('study-1')).state, 'draft')
  t.match(await records.approve('study-1', digest, BOB), { complete: true })
  t.equal((await records.get('study-1')).state, 'approved')
  t.match(
    (await records.history.events('study-1', 10)).map(({ status }) => status),
    ['approved', 'approval', 'approval', 'draft']
  )
})
