import { setImmediate as turn } from 'node:timers/promises'
import type { DecoderSession, DecoderVariant, VariantFamily } from '../decoder-session.ts'
import { inferenceErrors } from '../errors.ts'
import { RANK_MASK } from '../onnx/linear.ts'
import type { NativeRuntime } from '../ort/native-runtime.ts'
import type { HostTensor, OrtSession, Tensor } from '../ort/runtime.ts'
import type { AdapterFactors } from './factors.ts'
import type { LowRankSite } from './sites.ts'

/** Adapter whose factors are in memory. */
export interface StackMember {
  /** See {@link Job.weights}. */
  readonly weights: object
  readonly factors: AdapterFactors
}

export interface AdapterStackOptions {
  readonly runtime: NativeRuntime
  readonly decoder: Pick<DecoderSession, 'addVariant' | 'removeVariant' | 'forget'>
  /** Decoder with the factors as inputs. */
  readonly session: OrtSession
  readonly sites: readonly LowRankSite[]
  /** Returns the adapter with these weights; undefined for the base model. */
  memberOf(weights: unknown): StackMember | undefined
}

/** Ranks of a stack, `start` inclusive to `end` exclusive. */
interface Ranks {
  readonly start: number
  readonly end: number
}

/** Decoder for a number of sequences and a range of ranks. */
interface Mix {
  readonly variant: DecoderVariant
  readonly ranks: Ranks
  /** `[sequences, ranks]`. */
  readonly mask: HostTensor<'float32'>
  /** Parts of the stack. */
  readonly views: readonly Tensor[]
}

/**
 * Ranks that runs may compute in vain, as a multiple of all ranks of the stack, before it is built in another order.
 * Building copies all of them, which takes about as long as some runs.
 */
const PATIENCE = 8
/** Number of mixes whose bindings are kept. */
const MAX_MIXES = 24
/** Bytes copied before yielding to the event loop. */
const BYTES_PER_TURN = 2 ** 23

/**
 * Computes sequences of different adapters, and of the base model, in one run.
 *
 * The factors of several adapters are adjacent in memory: for each site one matrix with the ranks of all of them. A run
 * multiplies every sequence by the ranks of all its adapters, and a mask keeps those of the sequence's own. Runs for one
 * adapter bind its part of the same memory. Adapters enter the stack when they are first used with others. It is built in
 * another order once the ranks between those that runs need have cost more time than that.
 */
export class AdapterStack implements VariantFamily {
  readonly #options: AdapterStackOptions
  readonly #members = new Map<StackMember, Ranks>()
  /** Factors of all members, by the name of the graph input. */
  readonly #tensors = new Map<string, HostTensor<'float32'>>()
  /** Mixes by number of sequences and ranks; the least recently used come first. */
  readonly #mixes = new Map<string, Mix>()
  /** Calls of {@link AdapterStack.remove} while the stack is built; null if it is not being built. */
  #removed: (() => void)[] | null = null
  /** Ranks that were computed in vain since the stack was built. */
  #wasted = 0

  constructor(options: AdapterStackOptions) {
    this.#options = options
  }

  /** Throws `INF_OUT_OF_MEMORY`; the adapters can still be used. */
  async mix(weights: readonly unknown[]): Promise<DecoderVariant> {
    const owners = weights.map(each => this.#options.memberOf(each))
    const needed = new Set(owners.filter(owner => owner !== undefined))
    const ranks = this.#rangeOf(needed) ?? (await this.#build(needed))
    const { variant, mask } = this.#mixOf(weights.length, ranks)
    mask.data.fill(0)
    for (const [row, owner] of owners.entries()) {
      const own = owner === undefined ? undefined : this.#members.get(owner)
      const first = row * (ranks.end - ranks.start) - ranks.start
      if (own !== undefined) mask.data.fill(1, first + own.start, first + own.end)
    }
    return variant
  }

  /** Removes an adapter, which no run uses, and calls `release`: at once, or when the stack is built. */
  remove(member: StackMember, release: () => void): void {
    const remove = () => {
      this.#members.delete(member)
      release()
      if (this.#members.size === 0) this.close()
    }
    if (this.#removed === null) remove()
    else this.#removed.push(remove)
  }

  /** Frees all memory. Call only when no run uses it. */
  close(): void {
    this.#forgetMixes()
    for (const tensor of this.#tensors.values()) tensor.release()
    this.#tensors.clear()
    this.#members.clear()
  }

  /** Returns the ranks from the first to the last needed adapter; null if the stack must be built first. */
  #rangeOf(needed: ReadonlySet<StackMember>): Ranks | null {
    const parts = [...needed].map(member => this.#members.get(member))
    if (!parts.every(part => part !== undefined)) return null
    const ranks = {
      start: Math.min(...parts.map(({ start }) => start)),
      end: Math.max(...parts.map(({ end }) => end))
    }
    const used = parts.reduce((sum, { start, end }) => sum + end - start, 0)
    this.#wasted += ranks.end - ranks.start - used
    const all = Math.max(...[...this.#members.values()].map(({ end }) => end))
    return this.#wasted <= PATIENCE * all ? ranks : null
  }

  /** Makes the factors of the needed adapters adjacent, followed by those of the other members. */
  async #build(needed: ReadonlySet<StackMember>): Promise<Ranks> {
    const { decoder, session, sites } = this.#options
    const members = [...new Set([...needed, ...this.#members.keys()])]
    this.#forgetMixes()
    for (const { weights } of members) decoder.removeVariant(weights)
    this.#removed = []
    let end = 0
    this.#wasted = 0
    this.#members.clear()
    for (const member of members) {
      const start = end
      end += member.factors.rank
      this.#members.set(member, { start, end })
    }
    try {
      let copied = 0
      for (const { name, inputs, outputs } of sites) {
        this.#join(`${name}.a`, end, inputs)
        this.#join(`${name}.b`, end, outputs)
        copied += 4 * end * (inputs + outputs)
        if (copied < BYTES_PER_TURN) continue
        copied = 0
        await turn()
      }
    } catch (cause) {
      // Each factor is either in its old or in its new place, so its adapter can still be used without others.
      this.#members.clear()
      throw outOfMemory(members, cause)
    } finally {
      for (const { weights, factors } of members) {
        decoder.addVariant(weights, { session, inputs: factors.inputs, family: this })
      }
      const removed = this.#removed
      this.#removed = null
      for (const remove of removed) remove()
    }
    const used = [...needed].reduce((sum, { factors }) => sum + factors.rank, 0)
    return { start: 0, end: used }
  }

  /** Moves one factor of all members to adjacent memory. */
  #join(name: string, ranks: number, width: number): void {
    const { runtime } = this.#options
    const whole = runtime.host('float32', [ranks, width])
    for (const [{ factors }, { start, end }] of this.#members) {
      const part = runtime.view(whole, start, end - start)
      // On the CPU, the memory of all tensors can be read.
      part.data.set((factors.tensor(name) as HostTensor<'float32'>).data)
      factors.replace(name, part)
    }
    this.#tensors.get(name)?.release()
    this.#tensors.set(name, whole)
  }

  #mixOf(count: number, ranks: Ranks): Mix {
    const name = `${count} ${ranks.start} ${ranks.end}`
    const mix = this.#mixes.get(name) ?? this.#open(count, ranks)
    this.#mixes.delete(name)
    this.#mixes.set(name, mix)
    const [oldest] = this.#mixes
    if (this.#mixes.size > MAX_MIXES && oldest !== undefined) this.#forget(...oldest)
    return mix
  }

  #open(count: number, ranks: Ranks): Mix {
    const { runtime, session } = this.#options
    const length = ranks.end - ranks.start
    const mask = runtime.host('float32', [count, length])
    const views = [...this.#tensors].map(
      ([name, tensor]) => [name, runtime.view<Tensor>(tensor, ranks.start, length)] as const
    )
    const inputs = { ...Object.fromEntries(views), [RANK_MASK]: mask }
    return { variant: { session, inputs }, ranks, mask, views: views.map(([, view]) => view) }
  }

  #forgetMixes(): void {
    for (const [name, mix] of this.#mixes) this.#forget(name, mix)
  }

  #forget(name: string, { variant, mask, views }: Mix): void {
    this.#mixes.delete(name)
    this.#options.decoder.forget(variant)
    for (const tensor of [mask, ...views]) tensor.release()
  }
}

function outOfMemory(members: readonly StackMember[], cause: unknown) {
  const bytes = members.reduce((sum, { factors }) => sum + factors.bytes, 0)
  return inferenceErrors.create(
    'INF_OUT_OF_MEMORY',
    `Not enough memory to join the factors of ${members.length} adapters, which need ${bytes} bytes`,
    { cause, data: { bytes, adapters: members.length }, hint: 'Remove adapters that are not needed.' }
  )
}
