import fc from 'fast-check'
import t from 'tap'
import { OnnxGraph, ProtoWriter } from '#onnx'
import { openRuntime, ownRequire } from '#ort'

t.test('protobuf fields match the encoding guide', async t => {
  const hex = (writer: ProtoWriter) => Buffer.from(writer.finish()).toString('hex')
  t.equal(hex(new ProtoWriter().integer(1, 150)), '089601')
  t.equal(hex(new ProtoWriter().string(2, 'testing')), '120774657374696e67')
  t.equal(hex(new ProtoWriter().message(3, new ProtoWriter().integer(1, 150))), '1a03089601')
  t.equal(hex(new ProtoWriter().integer(1, -1)), '08ffffffffffffffffff01')
  t.equal(hex(new ProtoWriter().float(20, 1)), 'a5010000803f')
})

t.test('encodes integers of any size in the minimum number of bytes', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), value => {
        const bytes = new ProtoWriter().integer(1, value).finish().subarray(1)
        const back = bytes.reduceRight((sum, byte) => (sum << 7n) | BigInt(byte & 127), 0n)
        const groups = value === 0n ? 1 : Math.ceil(value.toString(2).length / 7)
        return back === value && bytes.length === groups
      })
    )
  )
})

t.test('a graph of constants, attributes and several outputs runs', async t => {
  const runtime = openRuntime('native', ownRequire(), () => {})
  const graph = new OnnxGraph('test')
  graph.input('x', 'float32', ['rows', 4])
  graph.constant('two', 'float32', [], new Uint8Array(Float32Array.of(2).buffer))
  graph.integers('sizes', [1, 3])
  graph.nodeWithOutputs('Split', [graph.node('Mul', ['x', 'two'], 'doubled'), 'sizes'], ['left', 'right'], { axis: -1 })
  graph.node('LeakyRelu', ['right'], 'kept', { alpha: { float: 0.5 } })
  graph.output('left', 'float32', ['rows', 1])
  graph.output('kept', 'float32', ['rows', 3])
  const session = await runtime.createSession({ model: graph.toBytes(), weights: null, threads: 1 })
  const [x, left, kept] = [[1, 4] as const, [1, 1] as const, [1, 3] as const].map(shape =>
    runtime.host('float32', shape)
  )
  const binding = session.bind({ x: x! }, { left: left!, kept: kept! })
  x!.data.set([1, 2, -3, 4])
  await binding.run()
  t.same([...left!.data], [2])
  t.same([...kept!.data], [4, -3, 8])
  binding.release()
  await session.close()
})
