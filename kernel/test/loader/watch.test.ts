import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Watcher } from '#loader'
import { folder, write } from '../fixtures/loader/plugin-folder.ts'

interface Watching {
  readonly watcher: Watcher
  readonly batches: string[][]
  /** Paths of the next batch, relative to the folder. */
  next(): Promise<string[]>
}

function watching(t: Test, root: string, onChange: () => void | Promise<void> = () => {}): Watching {
  const batches: string[][] = []
  let arrived = (): void => {}
  const watcher = new Watcher({
    onChange: paths => {
      batches.push(paths.map(path => path.slice(root.length + 1)))
      arrived()
      return onChange()
    },
    onError: error => t.fail(String(error))
  })
  t.teardown(() => watcher.close())
  const next = async (): Promise<string[]> => {
    while (batches.length === 0) {
      await new Promise<void>(resolve => {
        arrived = resolve
      })
    }
    return batches.shift() as string[]
  }
  return { watcher, batches, next }
}

t.test('reports exactly the files of the set, and files saved together in one batch', async t => {
  const root = folder(t, { 'src/a.ts': '1', 'src/b.ts': '1', 'src/other.ts': '1', 'package.json': '{}' })
  const { watcher, next } = watching(t, root)
  const files = ['src/a.ts', 'src/b.ts', 'package.json'].map(path => join(root, path))
  await watcher.update({ files, directories: [] })
  write(root, { 'src/other.ts': '2', 'src/new.ts': '2', 'README.md': '2' })
  write(root, { 'src/a.ts': '2', 'package.json': '{ }', 'src/b.ts': '2' })
  t.same(await next(), ['package.json', 'src/a.ts', 'src/b.ts'])
})

t.test('reports each save of an editor that saves by renaming', async t => {
  const root = folder(t, { 'a.ts': '0' })
  const { watcher, next } = watching(t, root)
  await watcher.update({ files: [join(root, 'a.ts')], directories: [] })
  for (let save = 1; save <= 3; save++) {
    write(root, { '.a.ts.swp': String(save) })
    renameSync(join(root, '.a.ts.swp'), join(root, 'a.ts'))
    t.same(await next(), ['a.ts'], `save ${save}`)
  }
  writeFileSync(join(root, 'a.ts'), 'in place')
  t.same(await next(), ['a.ts'], 'a later save in place is also reported')
})

t.test('reports a missing file when it appears and when it is removed', async t => {
  const root = folder(t)
  const { watcher, next } = watching(t, root)
  await watcher.update({ files: [join(root, 'later.toml')], directories: [] })
  write(root, { 'later.toml': 'x = 1' })
  t.same(await next(), ['later.toml'])
  rmSync(join(root, 'later.toml'))
  t.same(await next(), ['later.toml'])
})

t.test('reports a file whose folder appears later', async t => {
  const root = folder(t)
  const { watcher, next } = watching(t, root)
  await watcher.update({ files: [join(root, 'dist/plugin.json')], directories: [] })
  write(root, { 'dist/plugin.json': '{}' })
  t.same(await next(), ['dist/plugin.json'])
})

t.test('reports folders that appear in or disappear from a directory, but not its files', async t => {
  const root = folder(t, { 'plugins/one/package.json': '{}' })
  const { watcher, next } = watching(t, root)
  await watcher.update({ files: [], directories: [join(root, 'plugins')] })
  write(root, { 'plugins/notes.txt': 'x', 'plugins/one/package.json': '{ }' })
  mkdirSync(join(root, 'plugins/two'))
  t.same(await next(), ['plugins/two'])
  rmSync(join(root, 'plugins/one'), { recursive: true })
  t.same(await next(), ['plugins/one'])
})

t.test('reports a file whose folder appears in a watched directory', async t => {
  const root = folder(t, { 'plugins/one/package.json': '{}' })
  const { watcher, next } = watching(t, root)
  await watcher.update({ files: [join(root, 'plugins/two/package.json')], directories: [join(root, 'plugins')] })
  mkdirSync(join(root, 'plugins/two'))
  t.same(await next(), ['plugins/two'])
  write(root, { 'plugins/two/package.json': '{}' })
  t.same(await next(), ['plugins/two/package.json'])
})

t.test('reports a change without an event together with the next event', async t => {
  const root = folder(t, { 'a.ts': '1', 'out/deep/b.ts': '1' })
  const { watcher, next } = watching(t, root)
  await watcher.update({ files: [join(root, 'a.ts'), join(root, 'out/deep/b.ts')], directories: [] })
  // A folder that moves with its parent has no event.
  renameSync(join(root, 'out'), join(root, 'gone'))
  write(root, { 'out/deep/b.ts': '22' })
  write(root, { 'a.ts': '2' })
  const seen: string[] = []
  while (!seen.includes('out/deep/b.ts')) seen.push(...(await next()))
  t.same(seen.sort(), ['a.ts', 'out/deep/b.ts'])
  write(root, { 'out/deep/b.ts': '333' })
  t.same(await next(), ['out/deep/b.ts'], 'the file is then watched')
})

t.test('update replaces the set without a gap for members of both sets', async t => {
  const root = folder(t, { 'a.ts': '1', 'b.ts': '1', 'deep/c.ts': '1' })
  const { watcher, next } = watching(t, root)
  const files = (...paths: string[]) => paths.map(path => join(root, path))
  await watcher.update({ files: files('a.ts', 'deep/c.ts'), directories: [] })
  await watcher.update({ files: files('a.ts', 'b.ts'), directories: [] })
  write(root, { 'deep/c.ts': '2', 'b.ts': '2' })
  t.same(await next(), ['b.ts'])
  write(root, { 'a.ts': '2' })
  t.same(await next(), ['a.ts'])
})

t.test('reports changes during onChange in the next batch', async t => {
  const root = folder(t, { 'a.ts': '1', 'b.ts': '1' })
  let finish = (): void => {}
  const handled = new Promise<void>(resolve => {
    finish = resolve
  })
  const { watcher, next, batches } = watching(t, root, () => handled)
  await watcher.update({ files: [join(root, 'a.ts'), join(root, 'b.ts')], directories: [] })
  write(root, { 'a.ts': '2' })
  t.same(await next(), ['a.ts'])
  write(root, { 'b.ts': '2' })
  const second = new Watcher({ onChange: () => finish(), onError: () => {} })
  t.teardown(() => second.close())
  await second.update({ files: [join(root, 'a.ts')], directories: [] })
  t.same(batches, [])
  utimesSync(join(root, 'a.ts'), 1, 1)
  t.ok((await next()).includes('b.ts'))
})

t.test('reports an error of onChange and handles the next change', async t => {
  const root = folder(t, { 'a.ts': '1' })
  const errors: unknown[] = []
  let reported = (): void => {}
  const watcher = new Watcher({
    onChange: () => Promise.reject(new Error('cannot')),
    onError: error => {
      errors.push(error)
      reported()
    }
  })
  t.teardown(() => watcher.close())
  await watcher.update({ files: [join(root, 'a.ts')], directories: [] })
  for (const content of ['2', '3']) {
    const report = new Promise<void>(resolve => {
      reported = resolve
    })
    write(root, { 'a.ts': content })
    await report
  }
  t.match(errors, [{ message: 'cannot' }, { message: 'cannot' }])
})

t.test('a closed watcher reports nothing', async t => {
  const root = folder(t, { 'a.ts': '1' })
  const { watcher, batches } = watching(t, root)
  await watcher.update({ files: [join(root, 'a.ts')], directories: [] })
  write(root, { 'a.ts': '2' })
  await watcher.close()
  const other = watching(t, root)
  await other.watcher.update({ files: [join(root, 'a.ts')], directories: [] })
  write(root, { 'a.ts': '3' })
  await other.next()
  t.same(batches, [])
})
