import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import dashboard from '@svc/plugin-dashboard'
import database from '@svc/plugin-database'
import type { Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import { content, open } from './kit.ts'

const MANUSCRIPT = `---
id: study-1
title: A study of gates
author: [Ann Example, Bob Example]
abstract: We study gates.
license: CC-BY-4.0
keywords: [gates]
citations:
  - { id: k, type: book, title: Gates }
---

# Gates

They are open or closed.
`

t.test('a file with front matter becomes a publication', async t => {
  const { kernel } = await open(t)
  writeFileSync(join(kernel.root, 'study.md'), MANUSCRIPT)
  const prepared = await kernel.callById('publication.prepare', { path: 'study.md' })
  t.match(prepared, {
    publication_id: 'study-1',
    author: 'Ann Example; Bob Example',
    source_ref: 'study.md',
    state: 'draft',
    metadata_json: '{"license":"CC-BY-4.0","keywords":["gates"]}',
    citations_json: '[{"id":"k","type":"book","title":"Gates"}]'
  })
  const { publication } = (await kernel.callById('publication.show', { publication_id: 'study-1', body: true })) as any
  t.equal(publication.body_markdown, '# Gates\n\nThey are open or closed.\n')
})

t.test('files outside of the project, and links to them, are refused', async t => {
  const { kernel } = await open(t)
  const outside = t.testdir({ 'secret.md': 'secret' })
  symlinkSync(join(outside, 'secret.md'), join(kernel.root, 'link.md'))
  symlinkSync(outside, join(kernel.root, 'folder'))
  for (const path of ['link.md', 'folder/secret.md', join(outside, 'secret.md'), '../x.md'])
    await t.rejects(
      kernel.callById('publication.prepare', { path, id: 'x' }),
      { code: /PUB_FILE_(OUTSIDE|INVALID)/ },
      path
    )
  writeFileSync(join(kernel.root, '.env'), 'TOKEN=x')
  symlinkSync(join(kernel.root, '.env'), join(kernel.root, 'env.md'))
  for (const path of ['.env', 'env.md'])
    await t.rejects(kernel.callById('publication.prepare', { path, id: 'x' }), { message: /does not end with .md/ })
  mkdirSync(join(kernel.root, 'dir.md'))
  await t.rejects(kernel.callById('publication.prepare', { path: 'dir.md', id: 'x' }), { code: 'PUB_FILE_INVALID' })
})

t.test('two named people approve, and one of them revokes', async t => {
  const { kernel, records } = await open(t)
  const { content_sha3_256: digest } = await records.prepare(content())
  const approve = (approver: string) =>
    kernel.callById('publication.approve', { publication_id: 'study-1', digest, approver })
  t.match(await approve('Ann'), { approver: 'ann', missing_approvals: 1, state: 'draft' })
  t.match(await approve(' ANN '), { is_new: false, missing_approvals: 1 })
  t.match(await kernel.callById('publication.inbox', {}), { items: [{ title: /study-1 waits/ }] })
  t.match(await approve('Bob'), { missing_approvals: 0, state: 'approved' })
  t.strictSame(await kernel.callById('publication.inbox', {}), { items: [] })
  const revoked = await kernel.callById('publication.revoke', { publication_id: 'study-1', digest, approver: 'bob' })
  t.match(revoked, { revoked: true, state: 'draft', missing_approvals: 1 })
  t.match(await kernel.callById('publication.list', {}), { publications: [{ approvers: 'ann', approvals: 1 }] })
})

t.test('the images of a text are part of what is approved', async t => {
  const { kernel } = await open(t)
  const write = (image: string) => writeFileSync(join(kernel.root, 'docs', 'a.png'), image)
  mkdirSync(join(kernel.root, 'docs'))
  write('first')
  writeFileSync(join(kernel.root, 'docs', 'b c.png'), 'b')
  const text = (target: string) =>
    `${MANUSCRIPT}\n![gate](${target})\n![remote](https://example.org/b.png)\n![c][c]\n\n[c]: <b%20c.png> "title"\n[d]: study.md\n`
  const prepare = async (target = 'a.png') => {
    writeFileSync(join(kernel.root, 'docs', 'study.md'), text(target))
    return (await kernel.callById('publication.prepare', { path: 'docs/study.md' })) as {
      content_sha3_256: string
      version: number
    }
  }
  const first = await prepare()
  t.match(await kernel.callById('publication.show', { publication_id: 'study-1' }), {
    media: [{ path: 'a.png', media_type: 'image/png', bytes: 5, sha3_256: /^[0-9a-f]{64}$/ }, { path: 'b c.png' }]
  })
  t.strictSame(await prepare(), first, 'the same image is the same content')
  write('other')
  t.match(await prepare(), { version: 2 }, 'another image is another version')
  for (const target of ['none.png', '../../outside.png', '.'])
    await t.rejects(prepare(target), { code: 'PUB_FILE_INVALID', message: /docs\/study.md:\d+: image/ }, target)
  symlinkSync(join(t.testdir({ 'x.png': 'x' }), 'x.png'), join(kernel.root, 'docs', 'link.png'))
  await t.rejects(prepare('link.png'), { code: 'PUB_FILE_INVALID', message: /outside of the project/ })
})

t.test('the console accepts the pages, their operations and their fields', async t => {
  const kernel = await testKernel([database, dashboard, plugin] as Plugin[], {
    settings: { database: { path: 'store.db' } }
  })
  t.teardown(() => kernel.close())
  const { pages, broken } = (await kernel.callById('dashboard.pages', {})) as {
    pages: { path: string }[]
    broken: unknown[]
  }
  t.strictSame(broken, [])
  t.ok(pages.some(({ path }) => path === 'publication/publications'))
  t.ok(pages.some(({ path }) => path === 'publication/publications/:publication_id'))
})
