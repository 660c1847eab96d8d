// Searches the records of a run for secrets.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isCommon, ruleFor } from './allowed.mjs'
import { formsOf } from './forms.mjs'
import { MIN_SECRET_BYTES } from './recorder.mjs'
import { Search } from './search.mjs'

/** Bytes around a finding in which other secrets are replaced before a part of it is shown. */
const MAX_SEARCHED_BYTES = 1_000

/**
 * Searches all scopes below `folder`. Secrets of one scope, a test process with its child processes, are not searched in
 * another: the same word may be a secret in one test and a name in another.
 */
export function reportOf(folder) {
  const total = { scopes: 0, secrets: 0, common: 0, writes: 0, bytes: 0, skipped: 0, findings: [], allowed: new Map() }
  for (const scope of readdirSync(folder).sort()) {
    total.scopes += 1
    searchScope(join(folder, scope), total)
  }
  return total
}

function searchScope(folder, total) {
  const files = readdirSync(folder).map(name => join(folder, name))
  const secrets = new Map()
  for (const file of files)
    for (const { head, bytes } of recordsOf(file))
      if (head.kind === 'secret') {
        const id = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
        const known = secrets.get(id)
        if (known === undefined) secrets.set(id, { id, bytes: Buffer.from(bytes), names: new Set([head.name]) })
        else known.names.add(head.name)
      }
  const search = new Search()
  for (const secret of secrets.values()) {
    if (isCommon(secret.bytes.toString('utf8'))) {
      total.common += 1
      continue
    }
    total.secrets += 1
    for (const [form, pattern] of formsOf(secret.bytes))
      if (pattern.length >= MIN_SECRET_BYTES) search.add(pattern, { secret, form })
  }
  const known = new Map()
  for (const file of files)
    for (const { head, bytes } of recordsOf(file)) {
      if (head.kind === 'skipped') total.skipped += head.skipped
      if (head.kind !== 'sink') continue
      total.writes += 1
      total.bytes += bytes.length
      for (const [{ secret, form }, at] of search.find(bytes))
        note(known, total, { head, secret, form, at, bytes, secrets })
    }
  total.findings.push(...known.values())
}

function note(known, total, { head, secret, form, at, bytes, secrets }) {
  const { sink, place, file, test } = head
  const around = (text = bytes => bytes.toString('latin1')) => contextOf(bytes, at, secret, form, text)
  const rule = ruleFor({ sink, place, file, names: [...secret.names], context: around() })
  if (rule !== undefined) {
    total.allowed.set(rule, (total.allowed.get(rule) ?? 0) + 1)
    return
  }
  const key = `${sink}\0${place}\0${file}\0${test}\0${secret.id}\0${form}`
  const same = known.get(key)
  if (same !== undefined) {
    same.count += 1
    return
  }
  const context = around(bytes => withoutSecrets(bytes, secrets))
  const names = [...secret.names].join(', ')
  known.set(key, {
    sink,
    place,
    file,
    test,
    secret: names,
    id: secret.id,
    length: secret.bytes.length,
    form,
    count: 1,
    context
  })
}

/** Returns the text around a finding. `text` converts the bytes before and after the secret. */
function contextOf(bytes, at, secret, form, text) {
  const { length } = formsOf(secret.bytes).get(form)
  const before = text(bytes.subarray(Math.max(0, at - MAX_SEARCHED_BYTES), at))
  const after = text(bytes.subarray(at + length, at + length + MAX_SEARCHED_BYTES))
  return `${before.slice(-60)}<secret>${after.slice(0, 30)}`
}

function withoutSecrets(bytes, secrets) {
  let text = bytes.toString('latin1')
  for (const secret of secrets.values())
    for (const form of formsOf(secret.bytes).values())
      if (form.length >= MIN_SECRET_BYTES) text = text.replaceAll(form.toString('latin1'), '<secret>')
  return text.replaceAll(/[^\x20-\x7e]/g, '.')
}

/** Yields the records of a file. The last one may be cut, if its process was killed while it wrote. */
export function* recordsOf(file) {
  const content = readFileSync(file)
  for (let at = 0; at < content.length; ) {
    const end = content.indexOf(10, at)
    if (end < 0) return
    const head = JSON.parse(content.subarray(at, end).toString('utf8'))
    if (end + 1 + head.bytes > content.length) return
    yield { head, bytes: content.subarray(end + 1, end + 1 + head.bytes) }
    at = end + 1 + head.bytes
  }
}
