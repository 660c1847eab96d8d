import { type HirType, TypeNames, TypeSchemas } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { Decimal, error, Float, isEqual, Json, NONE, ok, some, Tagged, Tuple, type Value } from '#interpreter'
import { parseJson, printJson, WireTypes } from '#wire'
import { programFrom } from '../run-program.ts'

const program = programFrom(`
type Shape =
    | Circle(center: Point, radius: float)
    | Nothing

type Point { x: float
    y: float }

type Tree =
    | Leaf(value: int)
    | Node(left: Tree, right: Tree)

type Pair[A, B] { first: A
    second: B }

type Options { name: str
    size: int = 3
    note: Option[str] }

type Names = List[str]

@table
type Task { title: str
    done: bool
    owner: Option[str] }
`)
const types = new WireTypes(program.module, {
  defaults: program.defaults,
  evaluate({ block: [statement] }) {
    return statement?.kind === 'Expr' && statement.value.kind === 'Int' ? statement.value.value : null
  }
})

const named = (name: string): HirType => ({ Named: name })
const generic = (name: string, ...args: HirType[]): HirType => ({ Generic: [name, args] })
const record = (members: Record<string, Value>): Value => new Map(Object.entries(members))

/** Decodes JSON, and encodes it again. */
function through(text: string, type: HirType | null): string {
  return printJson(types.encode(types.decode(parseJson(text), type), type))
}

function refusal(run: () => unknown): unknown {
  try {
    run()
  } catch (thrown) {
    const { code, message, data } = thrown as { code: string; message: string; data: object }
    return { code, message, ...data }
  }
  return 'accepted'
}

t.test('every type is written as JSON and read unchanged', t => {
  const forms: readonly (readonly [HirType | null, Value, string])[] = [
    [named('int'), -7, '-7'],
    [named('int'), 2n ** 63n - 1n, '9223372036854775807'],
    [named('float'), new Float(1), '1'],
    [named('float'), new Float(0.25), '0.25'],
    [named('str'), 'ü "x"\n', '"ü \\"x\\"\\n"'],
    [named('char'), '🙂', '"🙂"'],
    [named('bool'), true, 'true'],
    ['Decimal', Decimal.parse('12.50') as Decimal, '"12.50"'],
    ['Unit', null, 'null'],
    [generic('Id', named('Task')), 3, '3'],
    [generic('List', named('int')), [1, 2], '[1,2]'],
    [generic('Tensor', named('2')), [new Float(1), new Float(0.5)], '[1,0.5]'],
    [generic('Option', named('str')), some('a'), '"a"'],
    [generic('Option', named('str')), NONE, 'null'],
    [generic('Result', named('int')), ok(1), '{"_tag":"Ok","value":1}'],
    [generic('Result', named('int')), error('no'), '{"_tag":"Err","value":"no"}'],
    [generic('Map', named('str'), named('int')), record({ a: 1, __proto__x: 2 }), '{"a":1,"__proto__x":2}'],
    [{ Tuple: [named('int'), named('str')] }, new Tuple([1, 'a']), '[1,"a"]'],
    [named('Point'), record({ x: new Float(1), y: new Float(2) }), '{"x":1,"y":2}'],
    [named('Names'), ['a'], '["a"]'],
    [generic('Pair', named('int'), named('str')), record({ first: 1, second: 'a' }), '{"first":1,"second":"a"}'],
    [named('Shape'), new Tagged('Nothing', []), '{"_tag":"Nothing"}'],
    [
      named('Shape'),
      new Tagged('Circle', [record({ x: new Float(0), y: new Float(0) }), new Float(2)], ['center', 'radius']),
      '{"_tag":"Circle","center":{"x":0,"y":0},"radius":2}'
    ],
    [
      named('Tree'),
      new Tagged('Node', [new Tagged('Leaf', [1], ['value']), new Tagged('Leaf', [2], ['value'])], ['left', 'right']),
      '{"_tag":"Node","left":{"_tag":"Leaf","value":1},"right":{"_tag":"Leaf","value":2}}'
    ],
    [
      named('Task'),
      record({ _id: 1, title: 'a', done: false, owner: NONE }),
      '{"_id":1,"title":"a","done":false,"owner":null}'
    ],
    [named('Json'), new Json({ a: [1, null] }), '{"a":[1,null]}'],
    [null, record({ a: [1, 'b', null, true, new Float(0.5)] }), '{"a":[1,"b",null,true,0.5]}'],
    [null, new Tagged('Leaf', [2n ** 60n], ['value']), '{"_tag":"Leaf","value":1152921504606846976}']
  ]
  for (const [type, value, text] of forms) {
    const of = JSON.stringify(type)
    t.equal(printJson(types.encode(value, type)), text, `${of} is written`)
    t.ok(isEqual(types.decode(parseJson(text), type), value), `${of} is read`)
  }
  t.end()
})

t.test('a mismatch is rejected with its path, and the expected and found types', t => {
  const refusals: readonly (readonly [HirType, string, string])[] = [
    [named('int'), '1.5', 'the value: expected int, found 1.5'],
    [named('int'), '9223372036854775808', 'the value: expected int, found 9223372036854775808'],
    [named('int'), '1e300', 'the value: expected int, found 1e+300'],
    [named('int'), '"1"', 'the value: expected int, found "1"'],
    [named('str'), 'null', 'the value: expected str, found null'],
    [named('bool'), '0', 'the value: expected bool, found 0'],
    ['Decimal', '1.5', 'the value: expected dec as a string such as "12.50", found 1.5'],
    ['Unit', '0', 'the value: expected null, found 0'],
    [generic('List', named('int')), '[1,[]]', '[1]: expected int, found an array of 0'],
    [generic('Tensor', named('2')), '[1]', 'the value: expected 2 elements, found 1'],
    [generic('Map', named('str'), named('int')), '{"a b":"x"}', '["a b"]: expected int, found "x"'],
    [named('Point'), '{"x":1}', 'y: expected float, found nothing'],
    [named('Point'), '{"x":1,"y":2,"z":3}', 'z: expected nothing, since Point has no such member, found 3'],
    [named('Shape'), '{"_tag":"Square"}', /^the value: expected Shape as .* found an object with the _tag "Square"$/],
    [named('Shape'), '{"_tag":"Circle","center":{"x":0,"y":"a"},"radius":1}', 'center.y: expected float, found "a"'],
    [generic('List', named('Task')), '[{"title":"a"}]', '[0].done: expected bool, found nothing']
  ] as never
  for (const [type, text, message] of refusals) {
    t.match(
      refusal(() => types.decode(parseJson(text), type)),
      { code: 'RUN_ARGUMENTS', message }
    )
  }
  t.match(
    refusal(() => types.decode(parseJson('{"x":true,"y":1}'), named('Point'))),
    { path: 'x', expected: 'float', found: 'true' }
  )
  t.match(
    refusal(() => types.decode(undefined, named('int'))),
    { message: 'the value: expected int, found nothing' }
  )
  t.end()
})

t.test('a result of the wrong type is an error of the program', t => {
  t.match(
    refusal(() => types.encode('1', named('int'))),
    {
      code: 'RUN_RESULT',
      message: 'the value: expected int, found str 1'
    }
  )
  t.match(
    refusal(() => types.encode([record({ x: new Float(1) })], generic('List', named('Point')))),
    { message: '[0].y: expected float, found nothing' }
  )
  t.match(
    refusal(() => types.encode(new Float(Number.NaN), named('float'))),
    { code: 'RUN_RESULT' }
  )
  t.match(
    refusal(() => types.encode([new Float(Number.POSITIVE_INFINITY)], null)),
    { code: 'RUN_RESULT' }
  )
  t.end()
})

t.test('optional members and members with a default may be omitted', t => {
  t.equal(through('{"name":"a"}', named('Options')), '{"name":"a","size":3,"note":null}')
  t.equal(through('{"name":"a","note":null,"size":4}', named('Options')), '{"name":"a","size":4,"note":null}')
  t.end()
})

t.test('only declared members are written', t => {
  const secretive = record({ x: new Float(1), y: new Float(2), password: 'x' })
  t.equal(printJson(types.encode(secretive, named('Point'))), '{"x":1,"y":2}')
  t.equal(
    printJson(types.encode(record({ _id: 1, title: 'a' }), named('Task'))),
    '{"_id":1,"title":"a"}',
    'partial rows'
  )
  t.end()
})

t.test('JSON that is nested too deeply is rejected', t => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  t.match(
    refusal(() => types.decode(parseJson(deep), null)),
    { code: 'RUN_ARGUMENTS' }
  )
  let tree = '{"_tag":"Leaf","value":1}'
  for (let depth = 0; depth < 300; depth++) {
    tree = `{"_tag":"Node","left":${tree},"right":{"_tag":"Leaf","value":2}}`
  }
  t.equal(through(tree, named('Tree')), tree, 'a realistic depth is accepted')
  t.end()
})

t.test('a schema describes the accepted JSON', t => {
  const schemaOf = (type: HirType): object => {
    const schemas = new TypeSchemas(new TypeNames(program.module), program.defaults)
    return schemas.whole(schemas.of(type))
  }
  const int = { type: 'integer', format: 'int64', minimum: -(2 ** 63), exclusiveMaximum: 2 ** 63 }
  t.same(schemaOf(named('Options')), {
    $ref: '#/$defs/Options',
    $defs: {
      Options: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          size: int,
          note: { anyOf: [{ type: 'string' }, { type: 'null' }] }
        },
        required: ['name'],
        additionalProperties: false
      }
    }
  })
  t.match(schemaOf(named('Tree')), {
    $defs: { Tree: { oneOf: [{ required: ['_tag', 'value'] }, { properties: { left: { $ref: '#/$defs/Tree' } } }] } }
  })
  t.match(schemaOf(generic('Pair', named('int'), named('str'))), {
    $ref: '#/$defs/Pair_int_str',
    $defs: { Pair_int_str: { properties: { first: { type: 'integer' }, second: { type: 'string' } } } }
  })
  t.end()
})

t.test('untyped JSON is unchanged', t => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'medium' }), json => {
      const text = JSON.stringify(json).replaceAll('"_tag"', '"tag"')
      t.equal(through(text, null), JSON.stringify(JSON.parse(text)))
    }),
    { numRuns: 300 }
  )
  t.end()
})

t.test('64-bit ints keep all digits within any JSON', t => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.string(), (int, text) => {
      const json = `{"text":${JSON.stringify(text)},"ints":[${int},0]}`
      t.equal(through(json, null), json)
    }),
    { numRuns: 300 }
  )
  t.end()
})
