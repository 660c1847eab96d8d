import { createHash } from 'node:crypto'
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryIdOf } from '#host'

t.test('a repository id consists of the folder name and a hash of the real path', async t => {
  const root = realpathSync(t.testdir())
  for (const name of ['one', 'two']) mkdirSync(join(root, name, 'shop'), { recursive: true })
  const shop = join(root, 'one', 'shop')
  const id = repositoryIdOf(shop)
  t.equal(id, `shop-${createHash('sha256').update(shop).digest('hex').slice(0, 8)}`)
  t.not(repositoryIdOf(join(root, 'two', 'shop')), id, 'another checkout has another id')
  symlinkSync(shop, join(root, 'link'))
  t.equal(repositoryIdOf(join(root, 'link')), id, 'a link to a checkout has the same id')
  t.equal(repositoryIdOf(`${shop}/../shop/`), id)
  t.throws(() => repositoryIdOf(join(root, 'nowhere')), { code: 'ENOENT' })
})
