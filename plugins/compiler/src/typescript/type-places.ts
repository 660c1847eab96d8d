import type { Hir } from '@svc/contracts'
import { propertyKey } from './names.ts'
import type { EmittedProgram } from './program.ts'
import { isList, isNamed } from './value-types.ts'

/** Places inside of the values of a type, as TypeScript. `counts` is false if the text only refers to a type around it. */
export interface Places {
  readonly text: string
  readonly counts: boolean
}

type Named = Extract<Hir.Type, { kind: 'named' }>
type Inside = (type: Hir.Type | undefined) => Places | null

/** How a helper at run time describes what it looks for in values. */
export interface PlaceRules {
  /** A value without parts; null if it is none that the helper looks for. */
  readonly plain: (type: Named) => Places | null
  readonly tuple: (items: readonly (Places | null)[]) => Places | null
  /** A list, a map, an option or a result. */
  readonly container: (type: Named, inside: Inside) => Places | null
}

/** Returns the places in the values of a type, as the argument of a helper; null if there are none. */
export function placesIn(type: Hir.Type, program: EmittedProgram, rules: PlaceRules): string | null {
  const found = new PlaceFinder(program, rules).of(type, [])
  return found?.counts === true ? found.text : null
}

/** Joins named places. `label`: the member of the helper's argument that holds them. */
export function joined(
  entries: readonly (readonly [name: string, place: Places | null])[],
  label: string | null
): Places | null {
  const present = entries.flatMap(([name, place]) => {
    return place === null ? [] : [{ ...place, text: `${propertyKey(name)}: ${place.text}` }]
  })
  if (present.length === 0) return null
  const text = `{ ${present.map(each => each.text).join(', ')} }`
  return { text: label === null ? text : `{ ${label}: ${text} }`, counts: present.some(({ counts }) => counts) }
}

class PlaceFinder {
  readonly #program: EmittedProgram
  readonly #rules: PlaceRules

  constructor(program: EmittedProgram, rules: PlaceRules) {
    this.#program = program
    this.#rules = rules
  }

  /** `outer` holds the names of the types of records around this one, outermost first. */
  of(type: Hir.Type, outer: readonly string[]): Places | null {
    const inside: Inside = part => (part === undefined ? null : this.of(part, outer))
    switch (type.kind) {
      case 'tuple':
        return this.#rules.tuple(type.items.map(inside))
      case 'record':
        return this.#fields(type.fields, [...outer, ''], 'fields')
      case 'named':
        if (isList(type) || isNamed(type, 'Map', 'Option', 'Result')) return this.#rules.container(type, inside)
        return this.#rules.plain(type) ?? this.#declared(type, outer)
      default:
        return null
    }
  }

  #declared(type: Named, outer: readonly string[]): Places | null {
    const at = outer.indexOf(type.name)
    if (at >= 0) return { text: `{ up: ${outer.length - at} }`, counts: false }
    const within = [...outer, type.name]
    const variants = this.#program.variantsOf(type)
    if (variants === null) return this.#fields([...(this.#program.fieldsOf(type) ?? [])], within, 'fields')
    const cases = variants.map(({ name, fields }) => [name, this.#fields(fields, within, null)] as const)
    return joined(cases, 'cases')
  }

  #fields(
    fields: readonly (readonly [name: string, type: Hir.Type])[],
    outer: readonly string[],
    label: 'fields' | null
  ): Places | null {
    const places = fields.map(([name, type]) => [name, this.of(type, outer)] as const)
    return joined(places, label)
  }
}
