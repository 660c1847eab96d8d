export interface ShopItem {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Crystals. */
  readonly price: number
  readonly effect: 'shield' | 'energy' | 'companion'
}

/** Items that crystals buy. */
export const SHOP: readonly ShopItem[] = [
  {
    name: 'streak_shield',
    title: 'Streak shield',
    description: 'Keeps the streak over one gap that is longer than the grace days.',
    price: 150,
    effect: 'shield'
  },
  { name: 'energy_refill', title: 'Energy', description: 'Restores all energy.', price: 50, effect: 'energy' },
  {
    name: 'companion_meal',
    title: 'Meal for the companion',
    description: 'Restores health and energy of the companion.',
    price: 30,
    effect: 'companion'
  }
]
