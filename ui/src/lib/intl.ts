// Formatters of `Intl`, made once: making one takes longer than formatting a thousand numbers.

/** Keeps what was made for a language. */
export function perLanguage<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map<string, T>();
  return (language) => {
    let one = made.get(language);
    if (one === undefined) {
      one = make(language);
      made.set(language, one);
    }
    return one;
  };
}

export const numbers = perLanguage((language) => new Intl.NumberFormat(language));
export const plurals = perLanguage((language) => new Intl.PluralRules(language));
