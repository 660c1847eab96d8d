import fc from 'fast-check'
import t from 'tap'
import { admit, placeIn, scan, splitScript } from '#sql'

t.test('counts parameters as SQLite does', t => {
  const positions = (sql: string) => scan(sql).positions
  t.equal(positions('SELECT ?, ?, ?'), 3)
  t.equal(positions('SELECT ?3, ?'), 4)
  t.equal(positions('SELECT :a, :b, :a, ?'), 3)
  t.equal(positions('SELECT \'?\', "?", `?`, [?], -- ?\n /* ? */ ?'), 1)
  t.equal(positions("SELECT 'it''s ?' || ?"), 1)
  t.equal(positions('SELECT 1.5e3, 0x1F, a$b'), 0)
  t.same(
    [...scan('SELECT @x, $y, :x').names],
    [
      ['@x', 1],
      ['$y', 2],
      [':x', 3]
    ]
  )
  t.end()
})

t.test('finds the verb of a statement after comments and common table expressions', t => {
  const verb = (sql: string) => scan(sql).verb
  t.equal(verb('-- a\n/* b */ select 1'), 'SELECT')
  t.equal(verb('WITH a AS (SELECT 1), b(x) AS (DELETE) INSERT INTO t SELECT * FROM a'), 'INSERT')
  t.equal(verb('with recursive n as (values (1)) select 1'), 'SELECT')
  t.equal(verb('replace into t values (1)'), 'REPLACE')
  t.equal(verb(' ;; '), '')
  t.end()
})

t.test('finds a second statement, but not in the body of a trigger', t => {
  t.equal(scan('SELECT 1; SELECT 2').second, 10)
  t.equal(scan('SELECT 1; -- done\n ;').second, null)
  t.equal(scan("SELECT ';'; ").second, null)
  const trigger =
    "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN 1 THEN 2 END; SELECT 'END;'; END"
  t.equal(scan(`${trigger};`).second, null)
  t.equal(scan(`${trigger}; SELECT 1`).second, trigger.length + 2)
  t.same(
    splitScript(`CREATE TABLE a (b); ${trigger};\n\n-- last\nSELECT 1`).map(({ sql }) => sql.trim().slice(0, 8)),
    ['CREATE T', 'CREATE T', 'SELECT 1']
  )
  t.end()
})

t.test('lines and columns count from 1', t => {
  t.same(placeIn('a\nbc\nd', 3), { line: 2, column: 2 })
  t.same(placeIn('', 0), { line: 1, column: 1 })
  t.end()
})

t.test('scans any string without an exception', t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => {
      const { second, positions } = scan(text)
      return (second === null || (second >= 0 && second < text.length)) && positions >= 0
    }),
    { numRuns: 700 }
  )
  const fragments = fc.array(
    fc.constantFrom("'", '"', '`', '[', ']', '--', '/*', '*/', ';', '?', ':a', '(', ')', 'END', '\n')
  )
  fc.assert(
    fc.property(fragments, parts => {
      const text = parts.join('')
      const parted = splitScript(text)
      return parted.every(({ sql, at }) => text.startsWith(sql, at))
    }),
    { numRuns: 700 }
  )
  t.end()
})

t.test('allows only pragmas that read', t => {
  t.doesNotThrow(() => admit('PRAGMA table_info(items)', undefined, true))
  t.doesNotThrow(() => admit('PRAGMA main.integrity_check(1)', undefined, true))
  t.doesNotThrow(() => admit('PRAGMA journal_mode', undefined, true))
  t.doesNotThrow(() => admit('PRAGMA user_version = 4', undefined, false))
  for (const sql of ['PRAGMA query_only(0)', 'PRAGMA main.synchronous = off', 'PRAGMA user_version = 4'])
    t.throws(() => admit(sql, undefined, true), { code: 'DBS_STATEMENT_REFUSED' }, sql)
  t.throws(() => admit("VACUUM INTO 'x.db'", undefined, false), { code: 'DBS_STATEMENT_REFUSED', hint: /backup/ })
  t.end()
})
