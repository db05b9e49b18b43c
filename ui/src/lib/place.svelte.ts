// Where in which story the page is: screens tell it, the shell and the palette read it.
class Place {
  chat = $state<string | null>(null);
  title = $state('');
  /** The turn looked at last. */
  turn = $state<number | null>(null);
  /** What the top bar says after the story. */
  crumb = $state('');

  enter(chat: string): void {
    if (this.chat === chat) return;
    this.chat = chat;
    this.title = '';
    this.turn = null;
  }
}

export const place = new Place();
