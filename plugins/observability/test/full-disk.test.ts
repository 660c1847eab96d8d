import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RetryingFile, readLogLines } from '#root'
import { mountSmallDisk } from '../../../test/small-disk.ts'

function open(path: string, more: object = {}) {
  const messages: string[] = []
  const log = { info: (message: string) => messages.push(message), error: (message: string) => messages.push(message) }
  const limits = { path, maxBytes: 1_000_000, maxFiles: 3, retryMs: 0 }
  return { file: new RetryingFile({ ...limits, log, what: 'the log is', ...more }), messages }
}

const disk = mountSmallDisk('64k')

t.test(
  'a full disk costs only the lines of that time',
  { skip: disk === null && 'this user may not mount' },
  async t => {
    const folder = disk as string
    const path = join(folder, 'svc.jsonl')
    const { file, messages } = open(path)
    file.append(['before'])
    const filler = join(folder, 'filler')
    for (let bytes = 32_768; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      try {
        for (;;) appendFileSync(filler, Buffer.alloc(bytes))
      } catch {
        // The next smaller piece.
      }
    }
    file.append(['x'.repeat(20_000)])
    file.append(['y'.repeat(20_000)])
    t.match(messages, [/^cannot write .*svc\.jsonl; the log is only kept in memory$/])
    rmSync(filler)
    file.append(['after'])
    file.append(['later'])
    t.equal(messages.length, 2)
    t.match(messages[1], /svc\.jsonl is written again/)
    const lines = await readLogLines(path)
    t.equal(lines[0], 'before')
    t.same(lines.slice(-2), ['after', 'later'], 'whole lines, also after a torn one')
  }
)

t.test('while writing fails, it is tried again only after a pause', async t => {
  const folder = t.testdir({ logs: 'in the way' })
  const path = join(folder, 'logs', 'svc.jsonl')
  const { file, messages } = open(path, { retryMs: 60_000 })
  file.append(['first'])
  rmSync(join(folder, 'logs'))
  file.append(['second'])
  t.notOk(existsSync(path))
  t.equal(messages.length, 1)
})

t.test('a file that logrotate moved is opened again', async t => {
  const path = join(t.testdir(), 'svc.jsonl')
  const { file } = open(path)
  file.append(['first'])
  renameSync(path, `${path}.old`)
  file.reopen()
  file.append(['second'])
  file.close()
  t.equal(readFileSync(`${path}.old`, 'utf8'), 'first\n')
  t.equal(readFileSync(path, 'utf8'), 'second\n')
})

t.test('a file that was truncated in place continues at its end', async t => {
  const path = join(t.testdir(), 'svc.jsonl')
  const { file } = open(path)
  file.append(['first'])
  writeFileSync(path, '')
  file.append(['second'])
  file.close()
  t.equal(readFileSync(path, 'utf8'), 'second\n')
})
