import { OnnxGraph } from './graph.ts'

/** Number of candidates per row. */
export const CANDIDATES = 256

/**
 * Builds the ONNX model that prepares the choice of tokens, at the temperature of each row.
 *
 * Inputs: `logits` float32 [n, vocabulary], `inverse_temperatures` float32 [n, 1]. Outputs: `candidates` int64 [n,
 * {@link CANDIDATES}] (the tokens with the largest logits, largest first; of equal logits, the smaller id first),
 * `probabilities` float32 [n, vocabulary] (softmax of logits / temperature), `log_sums` float32 [n, 1] (logarithm of the
 * sum of exp(logit), without the temperature).
 *
 * The logarithm is computed from the largest logit and its probability, because a reduction of exponentials takes six
 * times as long as a softmax.
 */
export function buildCandidates(vocabulary: number): Uint8Array {
  const graph = new OnnxGraph('candidates')
  const logits = graph.input('logits', 'float32', ['rows', vocabulary])
  const inverses = graph.input('inverse_temperatures', 'float32', ['rows', 1])
  const count = graph.integers('count', [CANDIDATES])
  graph.nodeWithOutputs('TopK', [logits, count], ['candidate_logits', 'candidates'], { axis: -1 })
  const tempered = graph.node('Mul', [logits, inverses], 'tempered')
  graph.node('Softmax', [tempered], 'probabilities', { axis: -1 })
  const [start, end, axis] = [graph.integers('zero', [0]), graph.integers('one', [1]), graph.integers('axis', [1])]
  const first = (name: string) => graph.node('Slice', [name, start, end, axis], `${name}.first`)
  const shares = graph.node('Softmax', [logits], 'shares', { axis: -1 })
  const share = graph.node('GatherElements', [shares, first('candidates')], 'share', { axis: 1 })
  graph.node('Sub', [first('candidate_logits'), graph.node('Log', [share], 'log_share')], 'log_sums')
  graph.output('candidates', 'int64', ['rows', CANDIDATES])
  graph.output('probabilities', 'float32', ['rows', vocabulary])
  graph.output('log_sums', 'float32', ['rows', 1])
  return graph.toBytes()
}
