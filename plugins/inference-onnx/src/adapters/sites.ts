import type { DecoderConfig } from '../model-config.ts'
import type { DecoderWeights, LayerWeights } from '../onnx/decoder.ts'
import type { Linear, LowRankInputs } from '../onnx/linear.ts'
import { type LayerLinear, linearShape, type TensorNames } from '../weights/tensor-names.ts'

/** Part of a projection in a decoder graph whose adapter factors are graph inputs; one checkpoint tensor. */
export interface LowRankSite extends LowRankInputs {
  readonly tensor: string
}

export interface OpenWeights {
  readonly weights: DecoderWeights
  readonly sites: readonly LowRankSite[]
}

/** Returns the weights with adapter factors added to every projection, and the list of sites. */
export function openToAdapters(config: DecoderConfig, names: TensorNames, weights: DecoderWeights): OpenWeights {
  const sites: LowRankSite[] = []
  // The last layer continues with the positions that get logits.
  const selected = new RegExp(`^(head|layer\\.${weights.layers.length - 1}\\.(o|lin_o|gate|up|gate_up|down))$`)
  const open = (name: string, linear: Linear, parts: readonly (readonly [tensor: string, rows: number])[]): Linear => {
    const lowRank = parts.map(
      ([tensor, outputs]): LowRankSite => ({
        name: `adapter.${tensor}`,
        tensor,
        inputs: inputsOf(config, name),
        outputs,
        isSelected: selected.test(name)
      })
    )
    sites.push(...lowRank)
    return { ...linear, lowRank }
  }
  const layers = weights.layers.map((layer, index): LayerWeights => {
    const projection = (linear: Linear, kinds: readonly LayerLinear[]) =>
      open(
        `layer.${index}.${kinds.join('_')}`,
        linear,
        kinds.map(kind => [names.linear(index, kind), linearShape(config, kind)[0]])
      )
    const pair = (linears: Pair, [first, second]: readonly [LayerLinear, LayerLinear]): Pair =>
      'weight' in linears
        ? projection(linears, [first, second])
        : [projection(linears[0], [first]), projection(linears[1], [second])]
    const joined = config.joinedProjections === true
    const { gateUp } = layer
    return {
      norms: layer.norms,
      mixer: openMixer(layer.mixer, joined, projection, pair),
      gateUp: joined && 'weight' in gateUp ? projection(gateUp, ['gate_up']) : pair(gateUp, ['gate', 'up']),
      down: projection(layer.down, ['down'])
    }
  })
  const head = open('head', weights.head, [[names.head, config.vocabularySize]])
  return { weights: { ...weights, layers, head }, sites }
}

type Pair = Linear | readonly [Linear, Linear]

function openMixer(
  mixer: LayerWeights['mixer'],
  joined: boolean,
  projection: (linear: Linear, kinds: readonly LayerLinear[]) => Linear,
  pair: (linears: Pair, kinds: readonly [LayerLinear, LayerLinear]) => Pair
): LayerWeights['mixer'] {
  if (mixer.kind === 'linear')
    return {
      ...mixer,
      mixedAndGate: pair(mixer.mixedAndGate, ['lin_qkv', 'lin_z']),
      betaAndDecay: pair(mixer.betaAndDecay, ['lin_b', 'lin_a']),
      output: projection(mixer.output, ['lin_o'])
    }
  const { queryKeyValue } = mixer
  return {
    ...mixer,
    queryKeyValue:
      'weight' in queryKeyValue
        ? projection(queryKeyValue, joined ? ['qkv'] : ['q', 'k', 'v'])
        : [
            projection(queryKeyValue[0], ['q']),
            projection(queryKeyValue[1], ['k']),
            projection(queryKeyValue[2], ['v'])
          ],
    output: projection(mixer.output, ['o'])
  }
}

function inputsOf(config: DecoderConfig, name: string): number {
  if (name.endsWith('.o')) return linearShape(config, 'o')[1]
  if (name.endsWith('.lin_o')) return linearShape(config, 'lin_o')[1]
  return name.endsWith('.down') ? linearShape(config, 'down')[1] : config.hiddenSize
}
