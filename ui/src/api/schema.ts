// Made by `npm run types` from docs/openapi.json.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description When an entry fires. */
        Activation: {
            /** @description `None` leaves it to the engine. */
            case_sensitive?: boolean | null;
            /** @description Fires without keys. */
            constant: boolean;
            /** @description Whether the entry takes part at all. */
            enabled: boolean;
            /** @description All keys of a list together stop the entry (`@@exclude_keys_all`). */
            exclude_all: string[][];
            /** @description Any key of any list stops the entry (`@@exclude_keys`). */
            exclude_any: string[][];
            /** @description Conditions on who speaks and what is generated. */
            filters: components["schemas"]["Filters"];
            force?: components["schemas"]["Force"] | null;
            /** @description Conditions on the state of the chat. */
            gates: components["schemas"]["Gates"];
            /** @description Any of these must be found. */
            keys: string[];
            once?: components["schemas"]["MatchOnce"] | null;
            /**
             * Format: double
             * @description In per cent; `None` fires always. Values outside 0 to 100 are kept as found.
             */
            probability?: number | null;
            /** @description From each list one key must be found (`@@additional_keys`). */
            require: string[][];
            /** @description How much text is scanned. */
            scan: components["schemas"]["ScanRange"];
            /** @description Further keys and how they combine. */
            secondary: components["schemas"]["Secondary"];
            /** @description Which texts besides the chat are scanned. */
            sources: components["schemas"]["MatchSources"];
            /** @description Effects that last for some messages. */
            timed: components["schemas"]["Timed"];
            /** @description The keys are said to be patterns, also those without slashes. */
            use_regex?: boolean;
            /** @description Found by meaning instead of by keys. */
            vectorized: boolean;
            /** @description `None` leaves it to the engine. */
            whole_words?: boolean | null;
        };
        /** @description All settings. */
        AllSettings: {
            /** @description Whether stories are remembered. */
            memory: boolean;
            /**
             * Format: int64
             * @description The revision of the stored documents.
             */
            revision: number;
            /** @description Every setting, by section. */
            rows: components["schemas"]["SettingRow"][];
            /** @description The rules of the engine that work now, as previews take them. */
            rules: Record<string, never>;
            /**
             * @description How the slots of memory go into prompts, from lasting to immediate; none if nothing is
             *     remembered.
             */
            slots: components["schemas"]["SlotView"][];
            /** @description The tokenizer that counts. */
            tokenizer: string;
        };
        /** @description A message of a question. */
        AskedMessage: {
            /** @description What is said. */
            content: string;
            /** @description Who speaks. */
            role: components["schemas"]["Role"];
        };
        /** @description A file that belongs to a card. */
        Asset: Record<string, never> & {
            /** @description The file's extension. */
            ext: string;
            /** @description Its name among its kind. */
            name: string;
            /** @description `icon`, `background`, `emotion`, ... */
            type: string;
            /** @description Where it is: `ccdefault:`, `embeded://path`, a web address. */
            uri: string;
        };
        /** @description A turn that is decided as another character's. */
        AsSpeaker: {
            /**
             * @description Whether books were chosen by what they are attached to. If the books of the turn are not
             *     today's, its own choice stays: old attachments are not stored.
             */
            followed: boolean;
            /** @description The character. */
            name: string;
            /** @description What memory keeps from the character: what it was away for or must not know. */
            withheld: components["schemas"]["Withheld"][];
        };
        /**
         * @description Who wrote.
         * @enum {string}
         */
        Author: "pass" | "person" | "import";
        /** @description The same change to many entries. */
        Batch: {
            /** @description Tell what would change, and change nothing. */
            dry_run?: boolean;
            /** @description Fields to change in each (RFC 7396). */
            patch?: Record<string, never>;
            /** @description Which entries. */
            select: components["schemas"]["Selection"];
            /**
             * Format: double
             * @description Added to each entry's order.
             */
            shift_order?: number | null;
        };
        /** @description What a batch did, or would do. */
        BatchDone: {
            /** @description Those that change. */
            changed: components["schemas"]["EntryChange"][];
            /** @description Whether nothing was changed. */
            dry_run: boolean;
            /**
             * Format: int64
             * @description The revision of the documents.
             */
            revision: number;
            /** @description How many entries were selected. */
            selected: number;
            /** @description Takes the whole batch back; none if nothing changed. */
            undo?: string | null;
        };
        /** @description A story that was begun. */
        BegunStory: {
            /** @description Its chat. */
            chat: components["schemas"]["ChatId"];
            /** @description Its title. */
            title: string;
        };
        /** @description What a prompt costs. */
        Bill: {
            /** @description All of it, in tokens of the full price. */
            cost: components["schemas"]["Tokens"];
            /** @description All other tokens. */
            plain: components["schemas"]["Tokens"];
            /** @description Tokens read from the cache. */
            read: components["schemas"]["Tokens"];
            /** @description Tokens written to it. */
            written: components["schemas"]["Tokens"];
        };
        /** @description What makes a book active. */
        Binding: {
            /** @enum {string} */
            to: "everywhere";
        } | {
            /** @description Active when this character speaks. */
            name: string;
            /** @enum {string} */
            to: "character";
        } | {
            /**
             * @description The book of this character's card: active when the character speaks, and while nobody is
             *     known to speak.
             */
            name: string;
            /** @enum {string} */
            to: "card";
        } | {
            /** @description Active when the user plays this persona. */
            name: string;
            /** @enum {string} */
            to: "persona";
        } | {
            /** @description Active in chats of this group. */
            name: string;
            /** @enum {string} */
            to: "group";
        } | {
            /** @description Active in this chat. */
            name: components["schemas"]["ChatId"];
            /** @enum {string} */
            to: "chat";
        };
        /** @description A lorebook; given by us and never read from a file. */
        BookId: string;
        /** @description What to change about a book. What is not given stays. */
        BookPatch: {
            /** @description What it is attached to. */
            bindings?: components["schemas"]["Binding"][] | null;
            /** @description What it says about itself. */
            description?: string | null;
            dialect?: components["schemas"]["Dialect"] | null;
            /** @description Its name. */
            name?: string | null;
            /** @description Whether its entries bring in others. */
            recursive?: boolean | null;
            /**
             * Format: int32
             * @description How many messages its entries scan.
             */
            scan_depth?: number | null;
            /**
             * Format: int32
             * @description Its own budget.
             */
            token_budget?: number | null;
        };
        /** @description What a book runs by, in words. */
        BookRules: {
            /** @description What its entries may use. */
            budget: string;
            /** @description How far back keys are looked for. */
            depth: string;
            /** @description The dialect. */
            dialect: components["schemas"]["Dialect"];
            /** @description What a key matches. */
            matching: string;
            /** @description Where its entries go. */
            place: string;
            /** @description Whether the texts of entries activate others. */
            recursion: string;
            /** @description The program or document whose rules these are. */
            title: string;
        };
        /**
         * @description Whose books a turn is decided with.
         * @enum {string}
         */
        Books: "then" | "now";
        /**
         * @description Where a book is from.
         * @enum {string}
         */
        BookSource: "start" | "bookcase";
        /** @description All books in the order they are woven in. */
        BooksView: {
            /** @description The books. */
            items: components["schemas"]["BookView"][];
            /**
             * Format: int64
             * @description The revision of the bookcase.
             */
            revision: number;
        };
        /** @description A book as it was kept: the hash of all it says. */
        BookVersion: string;
        /** @description A book. */
        BookView: {
            /** @description What it is attached to; nothing if it is only stored. */
            bindings: components["schemas"]["Binding"][];
            /** @description What it says about itself. */
            description: string;
            /** @description The rules it runs by. */
            dialect: components["schemas"]["Dialect"];
            /** @description How many entries it has. */
            entries: number;
            /** @description Its folders. */
            folders: components["schemas"]["FolderView"][];
            /** @description The format of its file. */
            format?: string | null;
            /** @description Its id. */
            id: components["schemas"]["BookId"];
            /** @description Its name. */
            name: string;
            /** @description Whether its entries activate others, if the book sets it. */
            recursive?: boolean | null;
            /**
             * Format: int64
             * @description The revision that last changed it; none for books named at start.
             */
            revision?: number | null;
            /** @description The same in words. */
            rules: components["schemas"]["BookRules"];
            /**
             * Format: int32
             * @description How many messages its entries scan, if the book sets it.
             */
            scan_depth?: number | null;
            /** @description Where it is from. */
            source: components["schemas"]["BookSource"];
            /**
             * Format: int32
             * @description Its own budget, if the book sets it.
             */
            token_budget?: number | null;
            version?: components["schemas"]["BookVersion"] | null;
        };
        /** @description How an entry fares when tokens are short. */
        BudgetRules: {
            /** @description Leaves before all others (`@@ignore_on_max_context`). */
            drop_first: boolean;
            /** @description Not counted against the budget's limit. */
            ignore: boolean;
            /**
             * Format: double
             * @description The entry's own cap (`NovelAI`; 0 to 1 is a share of the context).
             */
            max_tokens?: number | null;
            /**
             * Format: double
             * @description Higher survives longer; `None` falls back to the order.
             */
            priority?: number | null;
            /**
             * Format: double
             * @description Tokens kept free for it (`NovelAI`).
             */
            reserved_tokens?: number | null;
            trim?: components["schemas"]["Trim"] | null;
        };
        /** @description How one pool of lore used its budget. */
        BudgetUse: {
            /** @description The most it may use. */
            limit: components["schemas"]["Tokens"];
            /** @description Whether something did not fit. */
            overflowed: boolean;
            /** @description The pool, for example `world_info`. */
            pool: string;
            /** @description What it used. */
            used: components["schemas"]["Tokens"];
        };
        /** @description Tokens that were woven in, by source. */
        BySource: {
            /** @description Of books and vaults. */
            lore: components["schemas"]["Tokens"];
            /** @description Of memory. */
            memory: components["schemas"]["Tokens"];
        };
        /** @description What the cache of a connection is estimated to make of a prompt. */
        CacheEstimate: {
            /** @description Tokens by what they cost. */
            bill: components["schemas"]["Bill"];
            /** @description Where its breakpoints are; none for a provider that needs none. */
            marks: components["schemas"]["Mark"][];
            /**
             * Format: double
             * @description The price of the prompt; none where the connection has no price.
             */
            price?: number | null;
            /** @description Whose cache. */
            provider: string;
        };
        /** @description A character without its book. */
        Card: {
            /** @description Other first greetings. */
            alternate_greetings: string[];
            /** @description Pictures and the like (V3). */
            assets: components["schemas"]["Asset"][];
            /** @description The card's own version. */
            character_version: string;
            /** @description Who made the card. */
            creator: string;
            /** @description For people, never sent to the model. */
            creator_notes: string;
            depth_prompt?: components["schemas"]["DepthPrompt"] | null;
            /** @description Who the character is. */
            description: string;
            /** @description Everything else in the card's data, in file order. */
            extensions: Record<string, never>;
            /** @description The first greeting. */
            first_mes: string;
            /** @description Greetings for group chats (V3). */
            group_only_greetings: string[];
            /** @description How the character talks. */
            mes_example: string;
            /** @description The character's name. */
            name: string;
            /** @description The value of `{{char}}`, if not the name (V3). */
            nickname?: string | null;
            /** @description The character's traits. */
            personality: string;
            /** @description Replaces the prompt after the chat; may hold `{{original}}`. */
            post_history_instructions: string;
            /**
             * @description What the file has at its root beside `spec` and `data`: copies of fields for older
             *     programs, and what `SillyTavern` keeps there (`fav`, `chat`, `create_date`).
             */
            root?: Record<string, never>;
            /** @description Where the story takes place. */
            scenario: string;
            /** @description Replaces the main prompt; may hold `{{original}}`. */
            system_prompt: string;
            /** @description For searching. */
            tags: string[];
            /** @description The standard it follows. */
            version: components["schemas"]["CardVersion"];
            /** @description The name of a linked SillyTavern book (`extensions.world`). */
            world?: string | null;
        };
        /** @description What a format has no place for. */
        CardLosses: {
            /** @description The format. */
            format: string;
            /** @description What is not in its file. */
            losses: components["schemas"]["Loss"][];
        };
        /** @description The texts of card and persona that may be scanned. */
        CardTexts: {
            /**
             * @description The creator's notes.
             * @default
             */
            creator_notes: string;
            /**
             * @description The character's note.
             * @default
             */
            depth_prompt: string;
            /**
             * @description The character's description.
             * @default
             */
            description: string;
            /**
             * @description The persona's description.
             * @default
             */
            persona: string;
            /**
             * @description The character's personality.
             * @default
             */
            personality: string;
            /**
             * @description The scenario.
             * @default
             */
            scenario: string;
        };
        /**
         * @description Which standard a card follows.
         * @enum {string}
         */
        CardVersion: "v1" | "v2" | "v3" | "pygmalion" | "webui";
        /** @description Whose memory a chat becomes. */
        CatchUpBody: {
            /** @description The character's name. */
            character: string;
        };
        /**
         * @description What ended the unchanged beginning.
         * @enum {string}
         */
        Cause: "grew" | "woven" | "message";
        /** @description A turn that changes. */
        ChangedTurn: {
            /**
             * @description Of the entries that come in those that look accidental: a key was found, and the message
             *     it was found in has nothing else in common with the entry.
             */
            accidental: components["schemas"]["EntryId"][];
            /** @description What changes. */
            change: components["schemas"]["TurnChange"];
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description Its number in the run. */
            number: number;
        };
        /** @description A thing that was changed. */
        ChangedView: {
            /** @description What it became; `null` if it was taken away. */
            after?: unknown;
            /** @description What it was; `null` if it was not there. */
            before?: unknown;
            /** @description Its name: `book/ID`, `rules`, `settings`, `connection/NAME`, `routes`, `note/VAULT:PATH`. */
            key: string;
        };
        /** @description How much a channel counted. */
        ChannelScore: {
            /** @description The channel. */
            channel: components["schemas"]["RecallChannel"];
            /**
             * Format: double
             * @description What it added, in standard deviations of all messages.
             */
            score: number;
        };
        /** @description A character in a list. */
        CharacterBrief: {
            /** @description The beginning of its description, or what its maker says of it. */
            about: string;
            book?: components["schemas"]["BookId"] | null;
            /** @description Who made the card. */
            creator: string;
            /** @description How many greetings it has. */
            greetings: number;
            /** @description Its id. */
            id: string;
            /** @description Its name. */
            name: string;
            portrait?: components["schemas"]["FileVersion"] | null;
            /**
             * Format: int64
             * @description The revision that last changed it.
             */
            revision: number;
            /** @description The name it speaks under: its nickname, or its name. */
            speaks_as: string;
            /** @description For searching. */
            tags: string[];
        };
        /** @description A character, by whatever stable name the host knows it. */
        CharacterId: string;
        /** @description What to change about a character. What is not given stays. */
        CharacterPatch: {
            /** @description Its book, which must be there; empty for none. The book itself is not removed. */
            book?: string | null;
            /** @description Fields of its card. */
            card?: Record<string, never>;
        };
        /** @description A character. */
        CharacterView: {
            book?: components["schemas"]["BookId"] | null;
            /** @description The card, with all fields. */
            card: components["schemas"]["Card"];
            /** @description The format of the file it came from; none if it was made here. */
            format?: string | null;
            /** @description Its id. */
            id: string;
            portrait?: components["schemas"]["FileVersion"] | null;
            /**
             * Format: int64
             * @description The revision that last changed it.
             */
            revision: number;
            /** @description The name it speaks under: its nickname, or its name. */
            speaks_as: string;
        };
        /** @description One story, with all its branches. */
        ChatId: string;
        /** @description What to change about a chat. What is not given stays. */
        ChatPatch: {
            /** @description Whether it is put away. */
            archived?: boolean | null;
            /** @description Words to find it by. */
            tags?: string[] | null;
            /** @description Its name; empty for the one it had at first. */
            title?: string | null;
        };
        /** @description A chat. */
        ChatView: {
            /** @description Whether it is put away. */
            archived: boolean;
            /** @description When it was made, in milliseconds since 1970. */
            created: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["ChatId"];
            /**
             * Format: int64
             * @description Messages on the current path.
             */
            messages: number;
            /** @description Words to find it by. */
            tags: string[];
            /** @description The node the story is at; all zeros before the first message. */
            tip: components["schemas"]["PrefixHash"];
            /** @description Its name. */
            title: string;
            /**
             * Format: int64
             * @description Turns of all branches.
             */
            turns: number;
            /** @description When it last changed. */
            updated: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Grows with every write.
             */
            version: number;
        };
        /** @description What a write to a chat gives back. */
        ChatWrote: {
            /** @description The chat as it now is. */
            item: components["schemas"]["ChatView"];
            /** @description The node it leads to. */
            node: components["schemas"]["PrefixHash"];
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What became of an expectation. */
        Check: {
            /** @description The expectation. */
            expected: components["schemas"]["Expectation"];
            failure?: components["schemas"]["Failure"] | null;
        };
        /** @description An entry whose title an entry of the other book has. */
        Clash: {
            /** @description The entry. */
            id: components["schemas"]["EntryId"];
            /** @description What both are called. */
            title: string;
            /** @description The entry of the other book. */
            with: components["schemas"]["EntryId"];
        };
        /** @description A named model connection. */
        ConnectionId: string;
        /**
         * @description How a model's server is spoken to.
         * @enum {string}
         */
        ConnectionKind: "openai" | "ollama" | "offline";
        /** @description What is said of a connection. */
        ConnectionSettings: {
            /**
             * @description Requests at a time.
             * @default null
             */
            at_once: number | null;
            /**
             * Format: int32
             * @description Failures in a row after which it is left alone; 0 for never.
             * @default null
             */
            breaker_failures: number | null;
            /**
             * Format: double
             * @description For how many seconds it is left alone then.
             * @default null
             */
            breaker_seconds: number | null;
            /**
             * Format: double
             * @description The price of a million tokens that the provider has cached; without it, by the rules of
             *     `provider`.
             * @default null
             */
            cached_price: number | null;
            /**
             * Format: double
             * @description Seconds to accept a connection.
             * @default null
             */
            connect_seconds: number | null;
            /**
             * Format: int32
             * @description The context size of its models.
             * @default null
             */
            context: number | null;
            /**
             * @description What the prices are in: a word such as `EUR`.
             * @default null
             */
            currency: string | null;
            /**
             * Format: double
             * @description Seconds to begin an answer.
             * @default null
             */
            first_byte_seconds: number | null;
            /**
             * @description Whether the key a front end sends may be held in memory for work beside the stories.
             * @default false
             */
            hold_client_key: boolean;
            /** @default null */
            key: components["schemas"]["KeySource"] | null;
            /**
             * @description How it is spoken to.
             * @default openai
             */
            kind: components["schemas"]["ConnectionKind"];
            /**
             * Format: double
             * @description The longest wait between tries, in seconds.
             * @default null
             */
            longest_wait_seconds: number | null;
            /**
             * @description The model of features that name none.
             * @default null
             */
            model: string | null;
            /**
             * Format: double
             * @description The price of a million tokens of reply.
             * @default null
             */
            output_price: number | null;
            /**
             * Format: double
             * @description The price of a million tokens of prompt, in any currency.
             * @default null
             */
            price: number | null;
            /**
             * @description Whose prompt cache it has.
             * @default null
             */
            provider: string | null;
            /**
             * Format: int32
             * @description Tries after the first.
             * @default null
             */
            retries: number | null;
            /**
             * Format: double
             * @description Seconds between two pieces of an answer.
             * @default null
             */
            silence_seconds: number | null;
            /**
             * @description Whether it refuses prompts whose roles do not alternate.
             * @default false
             */
            strict_roles: boolean;
            /**
             * @description What tokens are counted with.
             * @default auto
             */
            tokenizer: components["schemas"]["TokenizerSetting"];
            /** @default null */
            url: components["schemas"]["ServerUrl"] | null;
        };
        /**
         * @description Where a connection is set up.
         * @enum {string}
         */
        ConnectionSource: "configuration" | "api";
        /** @description All connections. */
        ConnectionsView: {
            /** @description The connections, those of the configuration first. */
            items: components["schemas"]["ConnectionView"][];
            /** @description Whether the caller can set connections up here. */
            settable: boolean;
        };
        /** @description A model's server. */
        ConnectionView: {
            /** @description Its address, without secrets. */
            address: string;
            /**
             * Format: int32
             * @description The context size of its models, where it is configured.
             */
            context?: number | null;
            /** @description Whether what no route names goes there. */
            default: boolean;
            /** @description Where its key comes from, for who may administer the server; never the key. */
            key?: string | null;
            /** @description How it is spoken to. */
            kind: components["schemas"]["ConnectionKind"];
            /** @description The model of features that name none. */
            model?: string | null;
            /** @description Its name. */
            name: components["schemas"]["ConnectionId"];
            /** @description Why it cannot be used, if it cannot. */
            problem?: string | null;
            settings?: components["schemas"]["ConnectionSettings"] | null;
            /** @description Where it is set up. Only those of the `api` can be changed here. */
            source: components["schemas"]["ConnectionSource"];
            /** @description Whether it refuses prompts whose roles do not alternate. */
            strict_roles: boolean;
            /** @description What tokens are counted with. */
            tokenizer: string;
        };
        /** @description What a turn is estimated to have cost. */
        Cost: {
            /** @description In what; none where the connection does not say. */
            currency?: string | null;
            /**
             * Format: double
             * @description Its prompt.
             */
            prompt: number;
            /**
             * Format: double
             * @description Its reply; none where there is none, or no price of output.
             */
            reply?: number | null;
            /**
             * Format: double
             * @description Both.
             */
            total: number;
        };
        /** @description An entry whose keys are to be counted. */
        Count: {
            /** @description The character's name, for keys that name it. */
            character?: string | null;
            /** @description Changes to it that are not saved yet (RFC 7396). */
            draft?: Record<string, never> | null;
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
            /** @description The user's name, for keys that name it. */
            user?: string | null;
        };
        /** @description Verdicts by class. */
        Counts: {
            /** @description How many had no room. */
            cut: number;
            /** @description How many did not fire, but are still in the prompt. */
            lingering: number;
            /** @description How many were nearly found. */
            near: number;
            /** @description How many were not found. */
            no_match: number;
            /** @description How many a rule kept out. */
            rule: number;
            /** @description How many fired. */
            woven: number;
        };
        /** @description An entry that had no room. */
        CutEntry: {
            /** @description Its id. */
            entry: string;
            /** @description What people call it. */
            title: string;
        };
        /**
         * @description Why a decorator line does nothing.
         * @enum {string}
         */
        DecoratorProblem: "unknown" | "bad_argument" | "conflict" | "unsupported" | "no_decorator_above";
        /**
         * @description Something to do with a record.
         * @enum {string}
         */
        Deed: "pin" | "unpin" | "retire" | "restore" | "retcon" | "reveal";
        /** @description What to do with a record. */
        DeedBody: {
            /** @description For `retcon`: how it always was. */
            content?: string | null;
            /** @description What to do. */
            deed: components["schemas"]["Deed"];
            from?: components["schemas"]["FromView"] | null;
            /** @description Whose it is. */
            owner: components["schemas"]["Owner"];
            /** @description For `reveal`: who learns it. */
            to?: string | null;
        };
        /** @description A chat that was deleted. */
        DeletedChat: {
            /** @description Its id. */
            id: components["schemas"]["ChatId"];
        };
        /**
         * Format: int32
         * @description How many messages from the newest something is: 0 is after the newest message.
         */
        Depth: number;
        /**
         * @description Which end of the chat a depth is counted from.
         * @enum {string}
         */
        DepthFrom: "newest" | "oldest";
        /** @description A note put into the chat at some depth. */
        DepthPrompt: Record<string, never> & {
            /**
             * Format: int32
             * @description Messages from the newest.
             */
            depth: number;
            /** @description The text. */
            prompt: string;
            /** @description `system`, `user` or `assistant`. */
            role: string;
        };
        /**
         * @description The rules a book runs by: those of the program it was written for, unless somebody chooses
         *     others.
         * @enum {string}
         */
        Dialect: "world-info" | "cards" | "card-v3" | "seed-002" | "unorouter" | "risu" | "kobold" | "ai-dungeon" | "agnai" | "janitor" | "chub" | "backyard";
        /** @description What a revision did to one document. */
        DocumentChange: {
            /** @description Whether it is new. */
            added: boolean;
            /** @description The entries of a book that differ. */
            entries: components["schemas"]["EntryChange"][];
            /** @description The other fields that differ. */
            fields: components["schemas"]["FieldChange"][];
            /** @description Its name: `book/ID`, `settings`, `character/ID` and others. */
            key: string;
            /** @description Whether it was taken away. */
            removed: boolean;
        };
        /** @description Routes and features as they work now. */
        EffectiveRoutes: {
            /** @description The features that ask a model. */
            features: components["schemas"]["Features"];
            /** @description The routes in their order: the first that fits wins. */
            routes: components["schemas"]["RouteView"][];
            /** @description Where requests go that no route names. */
            writer: components["schemas"]["ConnectionId"];
        };
        /**
         * @description What an entity is.
         * @enum {string}
         */
        EntityKind: "character" | "place" | "object" | "faction" | "concept" | "unknown";
        /** @description What is remembered of an entity. */
        EntityTimeline: {
            /** @description Its other names. */
            aliases: string[];
            /** @description What it is. */
            kind: components["schemas"]["EntityKind"];
            /** @description What is remembered of it, oldest first, entries without a time last. */
            moments: components["schemas"]["Moment"][];
            /** @description Its name. */
            name: string;
        };
        /** @description Entries to be wrapped. */
        EntriesToWrap: {
            /** @description The entries. */
            entries: components["schemas"]["EntryToWrap"][];
            /**
             * @description The wrapper: `none`, `xml-minimal`, `xml-standard`, `xml-detailed`, `xml-maximum`,
             *     `markdown`, `lb`, `world-info` or `custom:TEMPLATE`.
             */
            format: string;
        };
        /** @description A page of the table of entries. */
        EntriesView: components["schemas"]["Page_EntryRow"] & {
            /** @description The compiled books that the table shows. */
            library: components["schemas"]["LibraryVersion"];
        };
        /** @description A piece of lore and the rules for when and where the model sees it. */
        Entry: {
            /** @description When the entry fires. */
            activation: components["schemas"]["Activation"];
            /** @description How it fares when tokens are short. */
            budget: components["schemas"]["BudgetRules"];
            /** @description Author's remark; several formats have only one of name and comment. */
            comment: string;
            /** @description The text with its decorator lines, exactly as stored. */
            content: string;
            copy_of?: components["schemas"]["OriginalId"] | null;
            /** @description Every key of the file that is not modelled. */
            extensions: Record<string, never>;
            /** @description Which inclusion group it competes in. */
            group: components["schemas"]["Group"];
            /** @description Unique over all books: made from the book's id, the original id and the place. */
            id: components["schemas"]["EntryId"];
            inject?: components["schemas"]["Inject"] | null;
            /** @description Shown name. */
            name: string;
            original_id?: components["schemas"]["OriginalId"] | null;
            /** @description Where it goes. */
            placement: components["schemas"]["Placement"];
            /** @description Put before the text. */
            prefix: string;
            /** @description How it takes part in recursion. */
            recursion: components["schemas"]["Recursion"];
            /** @description The fields that decide nothing. */
            rest: components["schemas"]["EntryRest"];
            /** @description Put after the text. */
            suffix: string;
        };
        /** @description An entry that changes. */
        EntryChange: {
            /** @description Whether it is new. */
            added?: boolean;
            /** @description Its book. */
            book: components["schemas"]["BookId"];
            /** @description What differs. */
            fields: components["schemas"]["FieldChange"][];
            /** @description The entry. */
            id: components["schemas"]["EntryId"];
            /** @description Whether it goes. */
            removed?: boolean;
            /** @description What people call it. */
            title: string;
        };
        /** @description An entry and which of its keys were found. */
        EntryHits: {
            /** @description Its book. */
            book: components["schemas"]["BookId"];
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
            /** @description Its keys, first and second, with where each is found. */
            keys: components["schemas"]["KeyHits"][];
            /** @description What people call it. */
            title: string;
        };
        /** @description An entry of a book; unique over all books. */
        EntryId: string;
        /** @description An entry's fields to change (RFC 7396): what is given replaces what is there. */
        EntryPatch: Record<string, never>;
        /** @description Fields that decide nothing. */
        EntryRest: {
            /** @description Whether the comment is shown. */
            add_memo: boolean;
            /** @description Quick replies started by this entry. */
            automation_id: string;
            /**
             * Format: int64
             * @description Place in the editor.
             */
            display_index?: number | null;
            /** @description The folder's id. */
            folder?: string | null;
            /** @description Prompts the entry asks the front end to hide (`@@disable_ui_prompt`). */
            hide_prompts: string[];
            /** @description When it was last edited, as the file has it. */
            last_updated?: unknown;
            /** @description Author's tags. */
            tags: string[];
        };
        /** @description A row of the table. */
        EntryRow: {
            /** @description Its book or vault. */
            book: components["schemas"]["BookId"];
            /**
             * Format: int64
             * @description At how many turns it had no room.
             */
            cut: number;
            /** @description Whether it can be changed here. */
            editable: boolean;
            /**
             * Format: int64
             * @description At how many turns it fired.
             */
            fired: number;
            /** @description What lets it in. */
            fires_by: components["schemas"]["FiresBy"];
            /** @description Its folder. */
            folder?: string | null;
            /** @description Its id. */
            id: components["schemas"]["EntryId"];
            /** @description Its keys. */
            keys: string[];
            /** @description Whether it is a note of a vault. */
            note: boolean;
            /**
             * Format: double
             * @description Its place among entries of one position.
             */
            order?: number | null;
            position?: components["schemas"]["Position"] | null;
            /** @description Its tags. */
            tags: string[];
            /** @description What people call it. */
            title: string;
            /**
             * Format: int32
             * @description The tokens of its text.
             */
            tokens: number;
            /** @description Its version, as `If-Match` takes it. */
            version: string;
        };
        /** @description An entry to be wrapped. */
        EntryToWrap: {
            /** @description Its text. */
            content: string;
            /**
             * @description What is known about it, by the names of a wrapper's fields: `name`, `world`, `key` …
             *     A list is joined by commas where the field takes one text.
             */
            fields?: Record<string, never>;
        };
        /** @description A version of an entry. */
        EntryVersion: {
            by?: components["schemas"]["Maker"] | null;
            /**
             * Format: int64
             * @description When, in milliseconds since 1970.
             */
            created: number;
            entry?: components["schemas"]["Entry"] | null;
            /**
             * Format: int64
             * @description The revision that made it.
             */
            revision: number;
            /** @description Takes that revision back, as `POST /undo` takes it. */
            undo: string;
            /**
             * Format: int64
             * @description The revision that it took back.
             */
            undoes?: number | null;
            /** @description Its version; none if it was taken out. */
            version?: string | null;
        };
        /** @description An entry with everything it says. */
        EntryView: components["schemas"]["EntryRow"] & {
            /** @description The text. */
            content: string;
            dialect?: components["schemas"]["Dialect"] | null;
            entry?: components["schemas"]["Entry"] | null;
        };
        /** @description An event with its number. */
        Event: components["schemas"]["Happened"] & {
            /**
             * Format: int64
             * @description Its number; later events have higher ones, after a restart too.
             */
            id: number;
        };
        /**
         * @description What happened, for people.
         * @enum {string}
         */
        EventKind: "created" | "confirmed" | "faded" | "superseded" | "retired" | "restored" | "edited" | "removed" | "reverted" | "forgotten" | "revealed" | "retconned";
        /** @description What is expected of a turn. */
        Expectation: {
            /** @description The entry. */
            entry: string;
            /** @enum {string} */
            what: "fires";
        } | {
            /** @description The entry. */
            entry: string;
            /** @enum {string} */
            what: "does_not_fire";
        } | {
            /** @description The entries. */
            entries: string[];
            /** @enum {string} */
            what: "order";
        } | {
            /** @description How many. */
            tokens: components["schemas"]["Tokens"];
            /** @enum {string} */
            what: "at_most";
        };
        /** @description A request that was sent on unchanged. */
        FailOpen: {
            /** @description When, in milliseconds since 1970. */
            at: components["schemas"]["Timestamp"];
            /** @description The path that was asked. */
            path: string;
            /** @description Why there was no lore in it. */
            reason: string;
        };
        /** @description Why an expectation does not hold. */
        Failure: {
            /** @enum {string} */
            code: "no_entry";
            /** @description The name. */
            entry: string;
        } | {
            /** @enum {string} */
            code: "several_entries";
            /** @description The name. */
            entry: string;
            /** @description Their ids. */
            ids: components["schemas"]["EntryId"][];
        } | {
            /** @enum {string} */
            code: "not_active";
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
        } | {
            /** @enum {string} */
            code: "decided";
            /** @description The decision. */
            verdict: components["schemas"]["Verdict"];
            /** @description The same in English. */
            why: string;
        } | {
            /** @enum {string} */
            code: "no_place";
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
        } | {
            /** @enum {string} */
            code: "other_order";
            /** @description Their order. */
            found: string[];
        } | {
            /** @enum {string} */
            code: "too_many_tokens";
            /** @description How many. */
            found: components["schemas"]["Tokens"];
        };
        /**
         * @description What goes on where a selecting model failed or chose nothing.
         * @enum {string}
         */
        Fallback: "candidates" | "matches" | "constants" | "forced" | "nothing";
        /** @description A connection, and a model of it where it is not the connection's own. */
        FeatureChoice: components["schemas"]["ConnectionId"] | components["schemas"]["FeatureModel"];
        /** @description A connection and a model of it. */
        FeatureModel: {
            /** @description The connection. */
            connection: components["schemas"]["ConnectionId"];
            /** @description The model. */
            model: string;
        };
        /** @description Which connection does what. */
        Features: {
            /** @default null */
            embedder: components["schemas"]["FeatureChoice"] | null;
            /** @default null */
            extractor: components["schemas"]["FeatureChoice"] | null;
            /** @default null */
            selector: components["schemas"]["FeatureChoice"] | null;
            /** @default null */
            writer: components["schemas"]["FeatureChoice"] | null;
        };
        /** @description A field that differs. */
        FieldChange: {
            /** @description What it becomes. */
            after: unknown;
            /** @description What it was. */
            before: unknown;
            /** @description The field, with dots. */
            field: string;
        };
        /** @description A file as it was kept: the hash of its bytes. */
        FileVersion: string;
        /** @description Conditions on who speaks and what is generated. */
        Filters: {
            /** @description Character names (SillyTavern: avatar file without extension). */
            characters: string[];
            /** @description The lists exclude instead of include. */
            exclude: boolean;
            /** @description Tag ids. */
            tags: string[];
            /** @description Generation types; empty means all. */
            triggers: string[];
        };
        /** @description An entry that fired. */
        Fired: {
            /** @description The book. */
            book: components["schemas"]["BookId"];
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
            /** @description Hash of the text that was woven in; `None` if the entry has no place in the prompt. */
            text?: string | null;
            /** @description Its title. */
            title: string;
            /** @description Its tokens. */
            tokens: components["schemas"]["Tokens"];
        };
        /**
         * @description What lets an entry in.
         * @enum {string}
         */
        FiresBy: "nothing" | "constant" | "meaning" | "keys";
        /** @description One change to the turn, the entry or the rules. */
        FixChange: {
            /** @enum {string} */
            change: "enable";
        } | {
            /** @enum {string} */
            change: "make_constant";
        } | {
            /** @enum {string} */
            change: "add_key";
            /** @description The key. */
            key: string;
        } | {
            /** @enum {string} */
            change: "any_generation";
        } | {
            /** @enum {string} */
            change: "any_character";
        } | {
            /** @enum {string} */
            change: "scan_depth";
            /**
             * Format: int32
             * @description Messages.
             */
            messages: number;
        } | {
            /** @enum {string} */
            change: "say";
            /** @description The words. */
            words: string[];
        } | {
            /** @enum {string} */
            change: "ignore_secondary";
        } | {
            /** @enum {string} */
            change: "wait";
            /** @description Messages. */
            until: components["schemas"]["MessageCount"];
        } | {
            /** @enum {string} */
            change: "no_cooldown";
        } | {
            /** @enum {string} */
            change: "no_delay";
        } | {
            /** @enum {string} */
            change: "any_secondary";
        } | {
            /** @enum {string} */
            change: "win_groups";
        } | {
            /** @enum {string} */
            change: "ignore_budget";
        } | {
            /** @enum {string} */
            change: "order";
            /**
             * Format: double
             * @description The order.
             */
            order: number;
        } | {
            /** @enum {string} */
            change: "allow_recursion";
        } | {
            /** @enum {string} */
            change: "no_recursion_level";
        } | {
            /** @enum {string} */
            change: "drop_decorator";
        } | {
            /** @enum {string} */
            change: "leave_groups";
        } | {
            /** @enum {string} */
            change: "probability";
            /**
             * Format: double
             * @description In per cent.
             */
            percent: number;
        } | {
            /** @enum {string} */
            change: "nearness";
            /**
             * Format: double
             * @description The least cosine.
             */
            threshold: number;
        } | {
            /** @enum {string} */
            change: "near_entries";
            /**
             * Format: int32
             * @description The most entries.
             */
            most: number;
        } | {
            /** @enum {string} */
            change: "setting";
            /** @description Its name. */
            name: string;
            /** @description The value. */
            value: string;
        } | {
            /** @enum {string} */
            change: "pin";
            /** @description Their titles. */
            titles: string[];
        } | {
            /** @enum {string} */
            change: "unblock";
        } | {
            /** @enum {string} */
            change: "scene";
            /** @description The field. */
            field: string;
            /** @description The values. */
            values: string[];
        } | {
            /** @enum {string} */
            change: "look_into";
            /** @description The folder. */
            folder: string;
        } | {
            /** @enum {string} */
            change: "drop_field";
            /** @description The field. */
            field: string;
        } | {
            /** @enum {string} */
            change: "budget";
            /** @description Tokens. */
            tokens: components["schemas"]["Tokens"];
        } | {
            /** @enum {string} */
            change: "total_budget";
            /** @description Tokens. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description One way to make an entry fire. */
        FixOption: {
            /** @description What to change, in order. The turn was run again with these, and the entry fired. */
            changes: components["schemas"]["FixChange"][];
            /** @description The changed fields of the entry (RFC 7396), over the entry of today. */
            entry: Record<string, never>;
            /** @description The changed rules of the engine, as a replay tries them. */
            rules: Record<string, never>;
            /** @description The changed settings by name, as `PATCH /settings` takes them. */
            settings: Record<string, never>;
            /** @description What is changed. */
            target: components["schemas"]["FixTarget"];
            /**
             * Format: int64
             * @description How many more tokens of lore the turn has; negative if others give way.
             */
            tokens: number;
            /** @description The same in English. */
            words: string[];
        };
        /** @description The ways to make an entry fire. */
        FixOptions: {
            /** @description The ways, the smallest change first. */
            items: components["schemas"]["FixOption"][];
        };
        /**
         * @description What a way changes.
         * @enum {string}
         */
        FixTarget: "entry" | "settings" | "both" | "scene" | "story" | "note";
        /** @description Changes that make an entry fire. */
        FixView: {
            /** @description What to change, in order. */
            changes: components["schemas"]["FixChange"][];
            /** @description The same in English. */
            words: string[];
        };
        /** @description A folder of a book. */
        FolderView: {
            /** @description Whether its entries are switched on. */
            enabled: boolean;
            /** @description Its id. */
            id: string;
            /** @description Its name. */
            name: string;
        };
        /**
         * @description An entry that is forced on or off.
         * @enum {string}
         */
        Force: "activate" | "suppress";
        /** @description What to forget. */
        ForgetBody: {
            /** @description Everything this character remembers, from all chats: with a chat, a fresh start. */
            and_character?: string | null;
            chat?: components["schemas"]["ChatId"] | null;
        };
        /** @description What was found. */
        FoundView: {
            /** @description Memories, best first. */
            memories: components["schemas"]["MemoryFound"][];
            /** @description Passages of the story, best first. */
            passages: components["schemas"]["PassageFound"][];
        };
        /** @description How often keys are found in the stored chats. */
        Frequency: {
            /** @description Chats that were looked at, newest first. */
            chats: number;
            /**
             * @description Whether that is all there is. If not, the bound of work was reached and older messages
             *     were left out.
             */
            complete: boolean;
            /** @description The entry's keys, first and second. */
            keys: components["schemas"]["KeyFrequency"][];
            /** @description Messages that were looked at, on all branches. */
            messages: number;
        };
        /** @description From where in a story on something is so. */
        FromView: {
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            message?: components["schemas"]["MessageId"] | null;
        };
        /** @description A condition on the state of the chat that does not hold. */
        Gate: {
            /**
             * Format: int32
             * @description How many there are.
             */
            count: number;
            /** @enum {string} */
            gate: "after";
            /**
             * Format: int32
             * @description How many it waits for.
             */
            wanted: number;
        } | {
            /**
             * Format: int32
             * @description How many there are.
             */
            count: number;
            /** @enum {string} */
            gate: "every";
            /**
             * Format: int32
             * @description How many.
             */
            wanted: number;
        } | {
            /**
             * Format: int32
             * @description The greeting of the chat.
             */
            found: number;
            /** @enum {string} */
            gate: "greeting";
            /**
             * Format: int32
             * @description The greeting it is for.
             */
            wanted: number;
        } | {
            /** @enum {string} */
            gate: "greeting_over";
        } | {
            /** @description The user's. */
            found: string;
            /** @enum {string} */
            gate: "user_icon";
            /** @description The icon it is for. */
            wanted: string;
        };
        /** @description Conditions on the state of the chat. */
        Gates: {
            /**
             * Format: int32
             * @description Not before this many messages (`@@activate_only_after`).
             */
            after?: number | null;
            /**
             * Format: int32
             * @description Only every so many messages (`@@activate_only_every`).
             */
            every?: number | null;
            /**
             * Format: int32
             * @description Only with this greeting (`@@is_greeting`).
             */
            greeting?: number | null;
            /**
             * Format: int32
             * @description Not in chats shorter than this (`JanitorAI`).
             */
            min_messages?: number | null;
            /** @description Only with this user icon (`@@is_user_icon`). */
            user_icon?: string | null;
        };
        /**
         * @description What the front end asks the model for.
         * @enum {string}
         */
        GenerationType: "normal" | "continue" | "impersonate" | "swipe" | "regenerate" | "quiet" | "edit";
        /** @description An announced request. */
        GenerationView: {
            /** @description Whether it came through the proxy. */
            arrived: boolean;
            /** @description The chat. */
            chat: string;
            /**
             * Format: int64
             * @description Its number.
             */
            id: number;
            turn?: components["schemas"]["TurnId"] | null;
        };
        /** @description A text that gave way. */
        GivenUp: {
            /** @description Where the text comes from. */
            source: components["schemas"]["Provenance"];
            /** @description Its tokens. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description Two things that have to do with each other. */
        GraphEdge: {
            /** @description The id of the first. */
            from: string;
            /** @description What ties them. */
            layer: components["schemas"]["GraphLayer"];
            /** @description The id of the second. */
            to: string;
            /**
             * Format: int64
             * @description How often: turns, keys or memories.
             */
            weight: number;
            /** @description The word for it: a key, a rule's name, a feeling. */
            word?: string | null;
        };
        /**
         * @description What two things have to do with each other.
         * @enum {string}
         */
        GraphLayer: "link" | "mention" | "rule" | "together" | "entity";
        /** @description A thing of the graph. */
        GraphNode: {
            /** @description Its book or vault; none for entities. */
            book?: string | null;
            /**
             * @description The id of the best tied node of its community: those that are tied among themselves
             *     more than to others.
             */
            community: string;
            /** @description With how many others it has to do, over the layers that were asked for. */
            degree: number;
            /**
             * Format: int64
             * @description At how many turns it fired.
             */
            fired: number;
            /** @description The entry's id; of an entity `entity:` and its name. */
            id: string;
            /** @description What it is. */
            kind: components["schemas"]["GraphNodeKind"];
            /** @description What people call it. */
            title: string;
            /**
             * Format: int32
             * @description Its position to the right of the centre. Nodes are about 60 apart.
             */
            x: number;
            /**
             * Format: int32
             * @description Its position below the centre.
             */
            y: number;
        };
        /**
         * @description What a node is.
         * @enum {string}
         */
        GraphNodeKind: "entry" | "note" | "entity";
        /** @description A part of the graph. */
        GraphView: {
            /** @description What ties them. */
            edges: components["schemas"]["GraphEdge"][];
            /** @description Names that memory knows and no entry is about. */
            gaps: string[];
            /** @description The things, near ones and those with many ties first. */
            nodes: components["schemas"]["GraphNode"][];
            /** @description How many things there are in all. */
            total: number;
            /** @description How many turns were looked at for what fires together. */
            turns: number;
        };
        /** @description Membership in inclusion groups. */
        Group: {
            /** @description The names as written, separated by commas. */
            names: string;
            /** @description Wins by order instead of by weight. */
            prioritize: boolean;
            /** @description Whether the number of matched keys decides; `None` leaves it to the engine. */
            use_scoring?: boolean | null;
            /**
             * Format: double
             * @description Share in the draw; `None` where the file has none (100).
             */
            weight?: number | null;
        };
        /** @description A group, or changes of one. What is not given stays. */
        GroupBody: {
            /** @description The id of a new one; made of its name without it. */
            id?: string | null;
            /** @description The ids of its characters. */
            members?: string[] | null;
            /** @description Members who do not speak unless they are chosen. */
            muted?: string[] | null;
            /** @description The name. */
            name?: string | null;
            order?: components["schemas"]["TurnOrder"] | null;
        };
        /**
         * @description Why a member of a group lost.
         * @enum {string}
         */
        GroupRule: "sticky" | "timed" | "score" | "already_active" | "priority" | "weight" | "double_removal";
        /** @description All groups. */
        GroupsView: {
            /** @description The groups, by name. */
            items: components["schemas"]["GroupView"][];
        };
        /** @description A group. */
        GroupView: {
            /** @description Its id. */
            id: string;
            /** @description The ids of its characters. */
            members: string[];
            /** @description Members who do not speak unless they are chosen. */
            muted: string[];
            /** @description The name. Books that are attached to a group go by it. */
            name: string;
            /** @description Who speaks next. */
            order: components["schemas"]["TurnOrder"];
            /**
             * Format: int64
             * @description The revision that last changed it.
             */
            revision: number;
        };
        /** @description What happened. */
        Happened: {
            /** @description The chat. */
            chat: string;
            /** @enum {string} */
            event: "chat";
            /**
             * Format: int64
             * @description Its version now.
             */
            version: number;
        } | {
            /** @description The chat. */
            chat: string;
            /** @enum {string} */
            event: "turn";
            /**
             * Format: int64
             * @description The turn.
             */
            turn: number;
        } | {
            /** @enum {string} */
            event: "fail_open";
            /** @description Why. */
            reason: string;
        } | {
            /** @enum {string} */
            event: "warning";
            /** @description Why. */
            reason: string;
        } | {
            /** @enum {string} */
            event: "trouble";
            /** @description What. */
            reason: string;
        } | {
            /** @enum {string} */
            event: "desk";
            /**
             * Format: int64
             * @description The revision now.
             */
            revision: number;
        } | {
            /** @enum {string} */
            event: "lore";
            /** @description Its version. */
            version: string;
        } | {
            /** @enum {string} */
            event: "memory";
            /** @description The write. */
            write: string;
        } | {
            /** @enum {string} */
            event: "job";
            /**
             * Format: int64
             * @description The job.
             */
            job: number;
            /** @description Its state. */
            state: string;
        } | {
            /** @description Chats done. */
            done: number;
            /** @enum {string} */
            event: "run";
            /**
             * Format: int64
             * @description The run.
             */
            run: number;
            /** @description Its state. */
            state: string;
            /** @description Chats in all. */
            total: number;
        } | {
            /** @enum {string} */
            event: "gap";
        };
        /** @description How often a text has one kind of hazard. */
        HazardCount: {
            /**
             * Format: int32
             * @description How often.
             */
            count: number;
            /** @description The first of them. Invisible characters are written as `U+200B`. */
            example: string;
            /** @description What it is. */
            kind: components["schemas"]["HazardKind"];
            /**
             * Format: int32
             * @description The line of the first one, from 1.
             */
            line: number;
        };
        /**
         * @description What a dangerous piece of text is.
         * @enum {string}
         */
        HazardKind: "template_token" | "role_marker" | "hidden_text" | "zero_width" | "direction";
        /** @description How the server is. */
        Health: {
            /** @description Books in use. */
            books: number;
            /** @description Entries and notes in use. */
            entries: number;
            /**
             * Format: int64
             * @description The number of the last event.
             */
            last_event: number;
            /** @description The compiled books. */
            library: components["schemas"]["LibraryVersion"];
            /** @description Whether stories are remembered. */
            memory: boolean;
            /** @description `ok`. */
            status: string;
            /** @description The tokenizer that counts. */
            tokenizer: string;
            /** @description The server's version. */
            version: string;
            /** @description Whether lore is woven into requests. */
            weaving: boolean;
        };
        /** @description Whether a message is hidden. */
        Hiding: {
            /** @description Whether the model shall not see it. */
            hidden: boolean;
        };
        /**
         * @description What happens to text that would break out of its place.
         * @enum {string}
         */
        Hygiene: "escape" | "strip" | "keep";
        /** @description What became of a card. */
        ImportedCharacterView: {
            /** @description The card as it was read. */
            card: components["schemas"]["Card"];
            /** @description How many entries its book has. */
            entries: number;
            /** @description What the file was. */
            format: string;
            item?: components["schemas"]["CharacterView"] | null;
            /** @description What was odd, repaired or left out. */
            notes: components["schemas"]["ImportNote"][];
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the import back; none for a dry run, or if nothing changed. */
            undo?: string | null;
        };
        /** @description What an import took in. */
        ImportedMemory: {
            /** @description Writes that are new. */
            new: number;
        };
        /** @description What became of settings of other programs. */
        ImportedSettingsView: {
            /** @description Settings that have a counterpart here, but cannot be set this way. */
            elsewhere: string[];
            /** @description The programs that were found. */
            programs: string[];
            /** @description Values that were refused, and why. */
            refused: string[];
            /** @description The settings that were taken over, by our names. */
            taken: Record<string, never>;
            /** @description Takes it back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
            /** @description Settings without a counterpart here. */
            unmapped: components["schemas"]["UnmappedSetting"][];
        };
        /** @description What became of a chat's file. */
        ImportedView: {
            /** @description Versions of messages that became branches. */
            branches: number;
            /** @description Timed effects that were taken over. */
            effects: number;
            /** @description What the file was. */
            format: string;
            /** @description The chat. */
            item: components["schemas"]["ChatView"];
            /** @description Texts of the system that are no part of the story. */
            left_out: number;
            /** @description Messages, in all branches. */
            messages: number;
            /** @description Variables that were taken over. */
            variables: number;
        };
        /** @description A remark about one place of the file: which field, what was found, how it was read. */
        ImportNote: {
            /** @description The entry, where it concerns one: its key or place in the file. */
            entry?: string | null;
            /** @description The field's name in the file; empty where it concerns the whole file. */
            field: string;
            /** @description How much it matters. */
            severity: components["schemas"]["NoteSeverity"];
            /** @description What was found and how it was read. */
            text: string;
        };
        /** @description Text put somewhere else than the entry's own place (Risu `@@inject_*`). */
        Inject: {
            /** @description What happens there. */
            op: components["schemas"]["InjectOp"];
            /** @description The name of the entry or place. */
            target: string;
        };
        /** @description A text for the prompt. Injections at one place are in prompt order. */
        Injection: {
            /** @description Where it goes. */
            place: components["schemas"]["Place"];
            /** @description The role of the message it becomes part of. */
            role: components["schemas"]["Role"];
            /** @description Where it comes from. */
            source: components["schemas"]["Provenance"];
            /** @description The text, ready to be sent. */
            text: string;
            /** @description Its tokens. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description What an injection does at its target. */
        InjectOp: "into_lore" | "at" | "prepend" | {
            /** @description Replaces this text. */
            replace: string;
        };
        /**
         * @description How a person relates to a fact.
         * @enum {string}
         */
        InsightKind: "knows" | "suspects" | "believes" | "unaware" | "hiding";
        /**
         * @description What a job does.
         * @enum {string}
         */
        JobKind: "reply" | "extract" | "round" | "catch_up";
        /**
         * @description The state of a job.
         * @enum {string}
         */
        JobState: "waiting" | "running" | "done" | "failed" | "cancelled";
        /** @description What a job asked its model. */
        JobTokens: {
            /**
             * Format: int64
             * @description Tokens of the answers.
             */
            answered: number;
            /**
             * Format: int64
             * @description Tokens of the questions.
             */
            asked: number;
            /**
             * Format: int32
             * @description Questions, with those that got no answer.
             */
            questions: number;
        };
        /** @description A job. */
        JobView: {
            /**
             * Format: int32
             * @description How often it was begun.
             */
            attempts: number;
            /** @description The chat: jobs of one chat run one at a time. */
            chat: components["schemas"]["ChatId"];
            /** @description The model connection it uses. */
            connection: components["schemas"]["ConnectionId"];
            /**
             * Format: int64
             * @description When it was queued, in milliseconds since 1970.
             */
            created: number;
            /**
             * Format: int32
             * @description Pieces done.
             */
            done: number;
            /**
             * Format: int64
             * @description Not before this time.
             */
            due: number;
            /** @description Why it was tried again, failed or was cancelled. */
            error?: string | null;
            /**
             * Format: int64
             * @description Its number.
             */
            id: number;
            /** @description What was read from the replies, if replies are included. */
            kept: string[];
            /** @description What it does. */
            kind: components["schemas"]["JobKind"];
            /**
             * @description The model's last replies, word for word: of a job that did not end well, could not do a
             *     part of its work, or of whose replies nothing came. The 6 last, 4000 characters of each.
             */
            replies: components["schemas"]["RawReply"][];
            /** @description Its state. */
            state: components["schemas"]["JobState"];
            tokens?: components["schemas"]["JobTokens"] | null;
            /**
             * Format: int32
             * @description Pieces in all; 0 where it is one piece.
             */
            total: number;
            /**
             * Format: int64
             * @description When it last changed.
             */
            updated: number;
        };
        /** @description What two prompts in a row have in common, in tokens of their texts. */
        Kept: {
            /** @description The common beginning. */
            kept: components["schemas"]["Tokens"];
            /** @description The prompt before. */
            previous: components["schemas"]["Tokens"];
            /** @description This prompt. */
            total: components["schemas"]["Tokens"];
        };
        /** @description The place of a text that is kept for the prompt cache. */
        KeptPlace: {
            idle_since?: components["schemas"]["MessageCount"] | null;
            /** @description The place in this prompt. */
            place: components["schemas"]["Place"];
            /** @description The tokens of its text. */
            tokens: components["schemas"]["Tokens"];
            /** @description Which part of the prompt that is. */
            zone: components["schemas"]["Zone"];
        };
        /** @description What a prompt kept of the one sent before in its chat. */
        KeptPrefix: {
            estimate?: components["schemas"]["CacheEstimate"] | null;
            /** @description Tokens of the common beginning, of the prompt before and of this one. */
            kept: components["schemas"]["Kept"];
        };
        /** @description The setup of a story. */
        KeptStory: {
            /**
             * @description The ids of its characters; none for a narrator.
             * @default []
             */
            characters: string[];
            /**
             * Format: int32
             * @description The greeting that the story began with, from 0.
             * @default null
             */
            greeting: number | null;
            /**
             * @description The name of the group, whose books are active.
             * @default null
             */
            group: string | null;
            /**
             * @description The main prompt instead of the usual one; `{{original}}` is the usual one.
             * @default null
             */
            main: string | null;
            /**
             * @description The model and how it writes.
             * @default {}
             */
            model: components["schemas"]["ModelChoice"];
            /**
             * @description Characters who do not speak unless they are chosen.
             * @default []
             */
            muted: string[];
            /** @description The author's note. */
            note?: Record<string, never> | null;
            /**
             * @description Who of several characters speaks next.
             * @default natural
             */
            order: components["schemas"]["TurnOrder"];
            /**
             * @description The id of the persona.
             * @default null
             */
            persona: string | null;
            /**
             * @description Instructions after the chat.
             * @default null
             */
            post_history: string | null;
            /**
             * @description Where the story takes place, instead of the card's scenario.
             * @default null
             */
            scenario: string | null;
            /**
             * @description The blocks of its prompt instead of the setting `weaving.template`.
             * @default null
             */
            template: string[] | null;
        };
        /**
         * @description Why the expression of a key was not run to its end.
         * @enum {string}
         */
        KeyCost: "too_many_steps" | "suspended" | "no_steps_left";
        /** @description How often a key is found. */
        KeyFrequency: {
            /** @description Chats it is found in. */
            chats: number;
            /** @description The key. */
            key: string;
            /** @description Messages it is found in. */
            messages: number;
        };
        /** @description A key and where it was found. */
        KeyHits: {
            /** @description The key. */
            key: string;
            /** @description Where it is found. */
            places: components["schemas"]["TextPlace"][];
        };
        /** @description A key that was found. */
        KeyMatch: {
            /** @description Where else it was found: the other messages, card texts and prompts that were scanned. */
            also?: components["schemas"]["MatchPlace"][];
            at?: components["schemas"]["MatchPlace"] | null;
            /** @description The key after macros, when that differs. */
            expanded?: string | null;
            /** @description The key as written. */
            key: string;
        };
        /** @description Where a key comes from: `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`. The key itself is refused. */
        KeySource: string;
        /** @description The keys. */
        KeysView: {
            /** @description The keys; with a key, those of its tenant. */
            items: components["schemas"]["KeyView"][];
            /** @description Whether nobody is let in without a key. */
            required: boolean;
            /** @description What the caller may give a key. */
            scopes: components["schemas"]["Scope"][];
            tenant?: components["schemas"]["TenantId"] | null;
        };
        /** @description A key, without what lets anybody in. */
        KeyView: {
            /**
             * Format: int64
             * @description Since when, in milliseconds since 1970.
             */
            created: number;
            /** @description What it is called. */
            id: string;
            /** @description What it is for. */
            name: string;
            /** @description Whether this call came with it. */
            own: boolean;
            /** @description Pages that may use the server with it from a browser. */
            pages: string[];
            /** @description What it may do. */
            scopes: components["schemas"]["Scope"][];
            /** @description Whose data it sees. */
            tenant: components["schemas"]["TenantId"];
        };
        /** @description Who knows what. */
        KnowledgeView: {
            /** @description What each knows. */
            items: components["schemas"]["Knows"][];
            /** @description Everybody named. */
            people: string[];
        };
        /** @description What noting knowledge gives back. */
        KnowledgeWrote: {
            /** @description The record it made. */
            id: string;
            /** @description Takes the write back, as `POST /undo` takes it. */
            undo: string;
        };
        /** @description What one person knows, guesses, believes, misses or hides. */
        Knows: {
            /** @description The knowledge. */
            content: string;
            /** @description Its id. */
            id: string;
            /** @description How they relate to it. */
            kind: components["schemas"]["InsightKind"];
            /** @description The messages it was drawn from. */
            receipts: components["schemas"]["MessageId"][];
            /** @description Whose knowledge it is. */
            subject: string;
            /** @description Who it is hidden from. */
            target?: string | null;
        };
        /** @description A message of the chat that was not sent. */
        LeftOutMessage: {
            /** @description Its first words. */
            begins: string;
            /** @description Its role. */
            role: components["schemas"]["Role"];
            /** @description Its tokens. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description A compiled library: equal versions decide alike. */
        LibraryVersion: string;
        /** @description Lines that became other lines. */
        LineChange: {
            /** @description Lines that are new. */
            added: string[];
            /** @description The line of the older text before which the change is, from 0. */
            at: number;
            /** @description Lines that are gone. */
            removed: string[];
        };
        /** @description Something odd about lore. */
        LintFinding: {
            /** @description The book or vault. */
            book: string;
            /** @description What it is. */
            code: string;
            /** @description All entries or notes it is about. */
            entries: components["schemas"]["EntryId"][];
            /** @description The entry or note; none where it is about several, or about the whole. */
            entry?: string | null;
            /** @description The same with its parameters. */
            parameters: Record<string, never>;
            /** @description How much it matters: `error`, `warning` or `hint`. */
            severity: components["schemas"]["LintSeverity"];
            /** @description What people call it. */
            title: string;
        };
        /**
         * @description How bad something is.
         * @enum {string}
         */
        LintSeverity: "hint" | "warning" | "error";
        /** @description What is odd. */
        LintView: {
            /** @description The findings. */
            items: components["schemas"]["LintFinding"][];
        };
        /** @description Changes of lore that are tried out and not saved. */
        LorePatch: {
            /** @description Changes of entries by their ids (RFC 7396). */
            entries?: Record<string, never>;
            /** @description Changes of the engine's rules (RFC 7396). */
            rules?: Record<string, never>;
            /** @description Entries to leave out. */
            without?: components["schemas"]["EntryId"][];
        };
        /** @description Something that a format has no place for. */
        Loss: {
            entry?: components["schemas"]["EntryId"] | null;
            /** @description The field of the model, with dots. */
            field: string;
            /** @description What it was. */
            value: unknown;
        };
        /** @description What a format has no place for. */
        LossesView: {
            /** @description The format. */
            format: string;
            /** @description What is not in its file. */
            losses: components["schemas"]["Loss"][];
        };
        /** @description A key that was made. */
        MadeKey: {
            /** @description What is known of it. */
            item: components["schemas"]["KeyView"];
            /** @description The key. It is shown here and never again: only its hash is kept. */
            key: string;
        };
        /**
         * @description Who made a book say what it says.
         * @enum {string}
         */
        Maker: "hand" | "import";
        /** @description A message of a prompt. */
        MappedMessage: {
            /** @description Its text, to the byte as it was sent. */
            content: string;
            /** @description The speaker's name, if the model gets it. */
            name?: string | null;
            /** @description Its role. */
            role: components["schemas"]["Role"];
            /**
             * Format: int32
             * @description Tokens up to its end.
             */
            token_end: number;
            /**
             * Format: int32
             * @description Tokens of the messages before it.
             */
            token_start: number;
        };
        /** @description A woven text in a prompt. */
        MappedSpan: {
            /** @description One past the last byte. */
            end: number;
            /** @description Names the span for links. */
            id: number;
            /** @description The message, counted from 0. */
            message: number;
            /** @description Where the text comes from. */
            source: components["schemas"]["Provenance"];
            /** @description Whether it is in the part that the previous prompt had. */
            stable: boolean;
            /** @description First byte inside that message's text (UTF-8). */
            start: number;
            /** @description What people call it. */
            title: string;
            /**
             * Format: int32
             * @description Tokens of the prompt up to its end.
             */
            token_end: number;
            /**
             * Format: int32
             * @description Tokens of the prompt before it.
             */
            token_start: number;
            /** @description Tokens of the text alone. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description A breakpoint: the prompt up to and including a message. */
        Mark: {
            /** @description The message, counted from 0. */
            message: number;
            /** @description The tokens up to its end. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description A note by its title, and by its vault if there are several. */
        MarkedNote: {
            /** @description The title, in any case. */
            title: string;
            /** @description The vault; any without one. */
            vault?: string | null;
        };
        /**
         * @description What an earlier match does to later turns.
         * @enum {string}
         */
        MatchOnce: "keep" | "once_only";
        /** @description Where a key was found. */
        MatchPlace: {
            /** @description One past the last byte. */
            end: number;
            /** @description The text it was found in. */
            source: components["schemas"]["TextSource"];
            /** @description First byte of the match in that text. */
            start: number;
        };
        /** @description Texts besides the chat that an entry's keys are looked for in. */
        MatchSources: {
            /** @description The creator's notes. */
            creator_notes: boolean;
            /** @description The character's note, inserted at depth. */
            depth_prompt: boolean;
            /** @description The character's description. */
            description: boolean;
            /** @description The persona's description. */
            persona: boolean;
            /** @description The character's personality. */
            personality: boolean;
            /** @description The scenario. */
            scenario: boolean;
        };
        /** @description A memory. */
        MemoryFound: {
            /** @description Its id. */
            id: string;
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
            /** @description What it says. */
            text: string;
        };
        /**
         * @description What a memory is about. The first five are long-term, the next four belong to a session.
         * @enum {string}
         */
        MemoryKind: "fact" | "relationship" | "preference" | "event" | "private" | "scene" | "revelation" | "development" | "detail" | "other";
        /** @description Names one write: all its events were stored together and are undone together. */
        MemoryWriteId: string;
        /** @description What a write of memory gives back. */
        MemoryWrote: {
            /** @description The record it made or changed. */
            id?: string | null;
            /** @description Takes the write back, as `POST /undo` takes it. */
            undo: string;
        };
        /** @description Memories to put together. */
        MergeBody: {
            /** @description What the new one says. */
            content: string;
            /** @description Their ids. */
            ids: string[];
            /** @description Whose they are. */
            owner: components["schemas"]["Owner"];
        };
        /** @description Two entities that are one. */
        MergeEntitiesBody: {
            /** @description Whose they are. */
            owner: components["schemas"]["Owner"];
            /** @description The one that goes; its name stays as an alias. */
            source: string;
            /** @description The one that stays, or the new name. */
            target: string;
        };
        /**
         * Format: int32
         * @description A number of messages on a path, used wherever a rule counts the story's length.
         */
        MessageCount: number;
        /** @description A message, independent of its ancestors (see [`crate::chat::identity`]). */
        MessageId: string;
        /** @description Changes of a message. */
        MessagePatch: {
            /** @description What is said instead. */
            content?: string | null;
            /** @description Who says it. */
            name?: string | null;
        };
        /** @description The model of a story and how it writes. What is not given is the connection's own. */
        ModelChoice: {
            /**
             * @description How much it thinks: `low`, `medium` or `high`.
             * @default null
             */
            effort: string | null;
            /**
             * Format: int32
             * @description The longest reply, in tokens.
             * @default null
             */
            max_tokens: number | null;
            /**
             * Format: double
             * @description The least chance of a word, compared with the likeliest.
             * @default null
             */
            min_p: number | null;
            /**
             * @description The model, by a name of `GET /v1/models`.
             * @default null
             */
            model: string | null;
            /**
             * @description Texts at which it stops.
             * @default []
             */
            stop: string[];
            /**
             * Format: double
             * @description How freely it chooses words.
             * @default null
             */
            temperature: number | null;
            /**
             * Format: double
             * @description The share of likely words it chooses from.
             * @default null
             */
            top_p: number | null;
        };
        /** @description An error as `OpenAI`'s clients read it. */
        ModelError: {
            code: components["schemas"]["ProblemCode"];
            message: string;
            param?: string | null;
            type: components["schemas"]["ProblemCode"];
        };
        /**
         * @description A tier that is tested.
         * @enum {string}
         */
        ModelTrial: "long_term" | "session" | "arcs" | "ledger" | "epistemic" | "together";
        /** @description Something remembered of an entity. */
        Moment: {
            /** @description Whether it is still true. */
            holds: boolean;
            /** @description Its record. */
            id: string;
            /** @description What it is. */
            kind: components["schemas"]["MomentKind"];
            /** @description The number of the first message it rests on, from 1, if the path has it. */
            message?: number | null;
            /** @description The messages it rests on. */
            receipts: components["schemas"]["MessageId"][];
            /** @description What replaced it. */
            replaced_by?: string | null;
            /** @description Its text. */
            text: string;
            /**
             * Format: int64
             * @description When it was remembered, in milliseconds since 1970.
             */
            ts?: number | null;
        };
        /**
         * @description What a moment of a timeline is.
         * @enum {string}
         */
        MomentKind: "memory" | "session_memory" | "scene" | "thread" | "knowledge" | "state";
        /** @description Entries to move or copy. */
        Move: {
            /** @description Leave them where they are, too. */
            copy?: boolean;
            /** @description Tell what would happen, and change nothing. */
            dry_run?: boolean;
            /** @description The book they go into. */
            into: components["schemas"]["BookId"];
            /** @description Which entries. */
            select: components["schemas"]["Selection"];
            /**
             * @description Leave out those whose title an entry of that book has. Without it both are there:
             *     nothing is ever overwritten.
             */
            skip_clashes?: boolean;
        };
        /** @description An entry that goes. */
        Moved: {
            /** @description What it is called by in the other book. */
            becomes: components["schemas"]["EntryId"];
            /** @description Its book. */
            from: components["schemas"]["BookId"];
            /** @description The entry. */
            id: components["schemas"]["EntryId"];
            /** @description What people call it. */
            title: string;
        };
        /** @description What a move did, or would do. */
        MoveDone: {
            /** @description Those whose title is taken there. */
            clashes: components["schemas"]["Clash"][];
            /** @description Whether nothing was changed. */
            dry_run: boolean;
            /**
             * @description What a file of the other book's format has no place for. It stays in the book here,
             *     and is left out when that is written as such a file.
             */
            losses: components["schemas"]["Loss"][];
            /** @description Those that go. */
            moved: components["schemas"]["Moved"][];
            /**
             * Format: int64
             * @description The revision of the documents.
             */
            revision: number;
            /** @description How many entries were selected. */
            selected: number;
            /** @description Takes all of it back; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What another program calls a setting. */
        NameElsewhere: {
            /** @description Its name there. */
            name: string;
            /** @description The program. */
            program: string;
        };
        /** @description A new book. */
        NewBook: {
            /** @description What it is attached to; to every chat without it. */
            bindings?: components["schemas"]["Binding"][] | null;
            /** @description What it says about itself. */
            description?: string;
            /** @description The rules it runs by; World Info's without it. */
            dialect?: components["schemas"]["Dialect"];
            /** @description Its id: letters, digits, `-`, `_` and `.`. */
            id: string;
            /** @description Its name. */
            name: string;
        };
        /** @description A new character. */
        NewCharacterBody: {
            /** @description The fields of its card; `name` must be there. */
            card: Record<string, never>;
            /** @description Its id; made of its name without it. */
            id?: string | null;
        };
        /** @description A new chat. */
        NewChat: {
            /** @description Its id. */
            id: string;
            /** @description What was said so far. */
            messages?: components["schemas"]["Said"][];
            /** @description Its name; the beginning of the first message without it. */
            title?: string | null;
        };
        /** @description A key for a connection. */
        NewConnectionKey: {
            /** @description The key. It is never shown again. */
            key: string;
        };
        /** @description A new entry. */
        NewEntry: {
            /** @description The book it is for. */
            book: components["schemas"]["BookId"];
            /** @description Its fields; those not given have their defaults. Its id is given by the server. */
            entry?: Record<string, never>;
        };
        /** @description The next request of a front end. */
        NewGeneration: {
            card?: components["schemas"]["CardTexts"] | null;
            /** @description The character who speaks next. */
            character?: string | null;
            /** @description The chat. */
            chat: string;
            /**
             * Format: int32
             * @description The model's context size, in tokens.
             */
            context?: number | null;
            /** @description The example messages of the card. */
            examples?: string | null;
            /** @description What is asked for. */
            generation?: components["schemas"]["GenerationType"];
            /** @description The group, in a chat of several characters. */
            group?: string | null;
            /**
             * Format: int32
             * @description The longest reply, in tokens: so much of the context is kept free.
             */
            max_tokens?: number | null;
            /** @description The text of the newest message, which the prompt contains. */
            newest: string;
            /** @description The author's note. The proxy places it. */
            note?: Record<string, never> | null;
            /** @description The front end places the lore itself: the proxy does not weave this request. */
            placed?: boolean;
            /**
             * @description The author's note that the front end puts into the prompt itself: it is no message of the
             *     story, and lore goes above and below it.
             */
            placed_note?: string | null;
            /** @description The user's name. */
            user?: string | null;
        };
        /** @description A key to make. */
        NewKey: {
            /** @description What it is for. */
            name?: string;
            /**
             * @description Pages that may use the server with it from a browser, for example `http://127.0.0.1:8000`.
             *     They may read answers (CORS) until the key is revoked.
             */
            pages?: string[];
            /** @description What it may do. */
            scopes: components["schemas"]["Scope"][];
            tenant?: components["schemas"]["TenantId"] | null;
        };
        /** @description What somebody knows from now on. */
        NewKnowledge: {
            /** @description The knowledge. */
            content: string;
            /** @description How they relate to it. */
            kind: components["schemas"]["InsightKind"];
            /** @description Whose knowledge it is. */
            subject: string;
            /** @description Who it is hidden from. */
            target?: string | null;
            /** @description The character whose memory holds it. */
            who: string;
        };
        /** @description Something said. */
        NewMessages: {
            /** @description The node it is said after; where the story is without it. */
            after?: string | null;
            /** @description Whether the messages of the current path that follow stay behind it: something is inserted. */
            insert?: boolean;
            /** @description What is said, oldest first. */
            messages: components["schemas"]["Said"][];
        };
        /** @description A note's file with another text. */
        NewNoteText: {
            /** @description All that the file shall say. */
            text: string;
        };
        /** @description A memory to note. */
        NewRecord: {
            /** @description What to remember. */
            content: string;
            /**
             * Format: int32
             * @description 1 (minor) to 3 (vital).
             */
            importance?: number | null;
            /** @description What it is about. */
            kind?: components["schemas"]["MemoryKind"];
            /** @description Whose it is. */
            owner: components["schemas"]["Owner"];
            /** @description The messages it rests on; none for something that holds on every path. */
            receipts?: components["schemas"]["MessageId"][];
        };
        /** @description The reply to a turn. */
        NewReply: {
            /** @description What the model said; notes alone are no reply. */
            content: string;
            /** @description Who spoke. */
            name?: string | null;
        };
        /** @description A new story. */
        NewStory: {
            /** @description Books that are active in this story, besides those that are anyway. */
            books?: components["schemas"]["BookId"][];
            /** @description A stored group, whose members, order and name it takes. */
            from_group?: string | null;
            /** @description The id of its chat; made of its title without it. */
            id?: string | null;
            /** @description The first message of a story without a greeting. */
            opening?: string | null;
            /** @description Who takes part, and how the story is played. */
            setup?: components["schemas"]["KeptStory"];
            /** @description Its title; the names of its characters without it. */
            title?: string | null;
        };
        /** @description Where the story shall be. */
        NewTip: {
            /** @description The node; all zeros for the beginning. */
            node: string;
        };
        /** @description A vault to take up: a folder, or the address of Obsidian's Local REST API. */
        NewVault: {
            /** @description The certificate that Obsidian made itself, as PEM text, for an address with `https`. */
            certificate?: string | null;
            /** @description The folder on the server's machine. */
            folder?: string | null;
            key?: components["schemas"]["KeySource"] | null;
            /** @description What it is called: letters, digits, `-`, `_` and `.`. */
            name: string;
            /**
             * @description Which of its notes are lore, as in the setting `vault.notes`: `tagged`, `all`, tags and
             *     folders. Without it the setting holds.
             */
            notes?: string | null;
            url?: components["schemas"]["ServerUrl"] | null;
        };
        /** @description Notebooks to write. What is not given stays. */
        NotebooksPatch: {
            /** @description The author's text; an empty one clears it. */
            author?: string | null;
            /** @description The model's notes; an empty text clears them. */
            model?: string | null;
        };
        /** @description The notebooks of a chat. */
        NotebooksView: {
            /** @description What the author wrote. */
            author: string;
            /** @description What the model noted, a line each. */
            model: string;
        };
        /**
         * @description How much a note matters.
         * @enum {string}
         */
        NoteSeverity: "info" | "warning";
        /** @description The file of a note. */
        NoteView: {
            /** @description The note's id. */
            id: components["schemas"]["EntryId"];
            /** @description The file inside its vault. */
            path: string;
            /** @description All that the file says. */
            text: string;
            /** @description Whether it can be changed here. */
            writable: boolean;
        };
        /** @description What is wanted now. */
        NowBody: {
            /** @description The character's name. */
            character: string;
            /** @description What. */
            what: components["schemas"]["Wanted"];
        };
        /** @description What came of it. */
        NowView: {
            /** @description What the newest reply contradicts. */
            contradictions: string[];
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description An id as the file has it. */
        OriginalId: number | string;
        /** @description The decision about an entry. */
        Outcome: {
            place?: components["schemas"]["Place"] | null;
            shortened_from?: components["schemas"]["Tokens"] | null;
            /** @description The tokens of its text. */
            tokens: components["schemas"]["Tokens"];
            /** @description How it came to fire. */
            trigger: components["schemas"]["Trigger"];
            /** @enum {string} */
            verdict: "activated";
        } | (components["schemas"]["Stop"] & {
            /** @enum {string} */
            verdict: "stopped";
        });
        /** @description Whose memory it is, inside a tenant. */
        Owner: {
            /** @description Everybody of a world. */
            world: string;
        } | {
            /** @description A character, in all its chats. */
            character: components["schemas"]["CharacterId"];
        } | {
            /** @description One chat. */
            chat: components["schemas"]["ChatId"];
        };
        /** @description Somebody who remembers. */
        OwnerView: {
            /**
             * Format: int64
             * @description The number of the last event.
             */
            events: number;
            /** @description Who. */
            owner: components["schemas"]["Owner"];
            /** @description Whether it waits for a chat that is not stored yet: its memory was imported first. */
            waiting: boolean;
        };
        /** @description A page of a list. */
        Page_ChangedTurn: {
            /** @description The items. */
            items: {
                /**
                 * @description Of the entries that come in those that look accidental: a key was found, and the message
                 *     it was found in has nothing else in common with the entry.
                 */
                accidental: components["schemas"]["EntryId"][];
                /** @description What changes. */
                change: components["schemas"]["TurnChange"];
                /** @description The chat. */
                chat: components["schemas"]["ChatId"];
                /** @description Its number in the run. */
                number: number;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_CharacterBrief: {
            /** @description The items. */
            items: {
                /** @description The beginning of its description, or what its maker says of it. */
                about: string;
                book?: components["schemas"]["BookId"] | null;
                /** @description Who made the card. */
                creator: string;
                /** @description How many greetings it has. */
                greetings: number;
                /** @description Its id. */
                id: string;
                /** @description Its name. */
                name: string;
                portrait?: components["schemas"]["FileVersion"] | null;
                /**
                 * Format: int64
                 * @description The revision that last changed it.
                 */
                revision: number;
                /** @description The name it speaks under: its nickname, or its name. */
                speaks_as: string;
                /** @description For searching. */
                tags: string[];
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_ChatView: {
            /** @description The items. */
            items: {
                /** @description Whether it is put away. */
                archived: boolean;
                /** @description When it was made, in milliseconds since 1970. */
                created: components["schemas"]["Timestamp"];
                /** @description Its id. */
                id: components["schemas"]["ChatId"];
                /**
                 * Format: int64
                 * @description Messages on the current path.
                 */
                messages: number;
                /** @description Words to find it by. */
                tags: string[];
                /** @description The node the story is at; all zeros before the first message. */
                tip: components["schemas"]["PrefixHash"];
                /** @description Its name. */
                title: string;
                /**
                 * Format: int64
                 * @description Turns of all branches.
                 */
                turns: number;
                /** @description When it last changed. */
                updated: components["schemas"]["Timestamp"];
                /**
                 * Format: int64
                 * @description Grows with every write.
                 */
                version: number;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_EntryRow: {
            /** @description The items. */
            items: {
                /** @description Its book or vault. */
                book: components["schemas"]["BookId"];
                /**
                 * Format: int64
                 * @description At how many turns it had no room.
                 */
                cut: number;
                /** @description Whether it can be changed here. */
                editable: boolean;
                /**
                 * Format: int64
                 * @description At how many turns it fired.
                 */
                fired: number;
                /** @description What lets it in. */
                fires_by: components["schemas"]["FiresBy"];
                /** @description Its folder. */
                folder?: string | null;
                /** @description Its id. */
                id: components["schemas"]["EntryId"];
                /** @description Its keys. */
                keys: string[];
                /** @description Whether it is a note of a vault. */
                note: boolean;
                /**
                 * Format: double
                 * @description Its place among entries of one position.
                 */
                order?: number | null;
                position?: components["schemas"]["Position"] | null;
                /** @description Its tags. */
                tags: string[];
                /** @description What people call it. */
                title: string;
                /**
                 * Format: int32
                 * @description The tokens of its text.
                 */
                tokens: number;
                /** @description Its version, as `If-Match` takes it. */
                version: string;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_EntryVersion: {
            /** @description The items. */
            items: {
                by?: components["schemas"]["Maker"] | null;
                /**
                 * Format: int64
                 * @description When, in milliseconds since 1970.
                 */
                created: number;
                entry?: components["schemas"]["Entry"] | null;
                /**
                 * Format: int64
                 * @description The revision that made it.
                 */
                revision: number;
                /** @description Takes that revision back, as `POST /undo` takes it. */
                undo: string;
                /**
                 * Format: int64
                 * @description The revision that it took back.
                 */
                undoes?: number | null;
                /** @description Its version; none if it was taken out. */
                version?: string | null;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_JobView: {
            /** @description The items. */
            items: {
                /**
                 * Format: int32
                 * @description How often it was begun.
                 */
                attempts: number;
                /** @description The chat: jobs of one chat run one at a time. */
                chat: components["schemas"]["ChatId"];
                /** @description The model connection it uses. */
                connection: components["schemas"]["ConnectionId"];
                /**
                 * Format: int64
                 * @description When it was queued, in milliseconds since 1970.
                 */
                created: number;
                /**
                 * Format: int32
                 * @description Pieces done.
                 */
                done: number;
                /**
                 * Format: int64
                 * @description Not before this time.
                 */
                due: number;
                /** @description Why it was tried again, failed or was cancelled. */
                error?: string | null;
                /**
                 * Format: int64
                 * @description Its number.
                 */
                id: number;
                /** @description What was read from the replies, if replies are included. */
                kept: string[];
                /** @description What it does. */
                kind: components["schemas"]["JobKind"];
                /**
                 * @description The model's last replies, word for word: of a job that did not end well, could not do a
                 *     part of its work, or of whose replies nothing came. The 6 last, 4000 characters of each.
                 */
                replies: components["schemas"]["RawReply"][];
                /** @description Its state. */
                state: components["schemas"]["JobState"];
                tokens?: components["schemas"]["JobTokens"] | null;
                /**
                 * Format: int32
                 * @description Pieces in all; 0 where it is one piece.
                 */
                total: number;
                /**
                 * Format: int64
                 * @description When it last changed.
                 */
                updated: number;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_OwnerView: {
            /** @description The items. */
            items: {
                /**
                 * Format: int64
                 * @description The number of the last event.
                 */
                events: number;
                /** @description Who. */
                owner: components["schemas"]["Owner"];
                /** @description Whether it waits for a chat that is not stored yet: its memory was imported first. */
                waiting: boolean;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_RecordView: {
            /** @description The items. */
            items: {
                /** @description Whether it is in use: neither retired nor replaced nor held. */
                active: boolean;
                /** @description What it says. */
                fields: Record<string, never>;
                /** @description Its id among its owner's records; its tier, where there is only one of it. */
                id: string;
                /** @description Whose it is. */
                owner: components["schemas"]["Owner"];
                /** @description What it is. */
                tier: components["schemas"]["RecordKind"];
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_RevisionView: {
            /** @description The items. */
            items: {
                /** @description What was changed. */
                changes: components["schemas"]["ChangedView"][];
                /**
                 * Format: int64
                 * @description When, in milliseconds since 1970.
                 */
                created: number;
                /**
                 * Format: int64
                 * @description Its number.
                 */
                number: number;
                /** @description Takes it back, as `POST /undo` takes it. */
                undo: string;
                /**
                 * Format: int64
                 * @description The revision that it took back.
                 */
                undoes?: number | null;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_TurnSummary: {
            /** @description The items. */
            items: {
                /** @description The node it was computed on. */
                at: components["schemas"]["PrefixHash"];
                /** @description When. */
                created: components["schemas"]["Timestamp"];
                /** @description What was asked for. */
                generation: components["schemas"]["GenerationType"];
                /** @description The turn. */
                id: components["schemas"]["TurnId"];
                reply?: components["schemas"]["PrefixHash"] | null;
                /** @description Whether its prompt, injections and verdicts were given up to save space. */
                trimmed?: boolean;
                /** @description Whether it was taken back: it is part of no state. */
                undone?: boolean;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_VerdictRow: {
            /** @description The items. */
            items: {
                /** @description Its book or vault. */
                book: components["schemas"]["BookId"];
                /** @description The class. */
                class: components["schemas"]["VerdictClass"];
                /** @description The deciding rule: `activated` or the rule that stopped it. */
                code: string;
                /** @description The entry. */
                entry: components["schemas"]["EntryId"];
                kept_place?: components["schemas"]["KeptPlace"] | null;
                /** @description The decision with its parameters. */
                outcome: components["schemas"]["Outcome"];
                /** @description The decision in English. */
                sentence: string;
                /** @description What people call it. */
                title: string;
                tokens?: components["schemas"]["Tokens"] | null;
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A page of a list. */
        Page_WriteSummary: {
            /** @description The items. */
            items: {
                /** @description When. */
                at: components["schemas"]["Timestamp"];
                /** @description Who wrote. */
                author: components["schemas"]["Author"];
                chat?: components["schemas"]["ChatId"] | null;
                /** @description Its name. */
                id: components["schemas"]["MemoryWriteId"];
                /** @description What it was for. */
                note: string;
                /** @description Whose memory it changed. */
                owners: components["schemas"]["Owner"][];
            }[];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A passage of the story. */
        PassageFound: {
            /** @description All channels that found it, most important first. */
            channels: components["schemas"]["ChannelScore"][];
            /** @description The channel that counted most. */
            found_by: components["schemas"]["RecallChannel"];
            /** @description The message's number on the path, from 1. */
            message: number;
            /** @description The message's node. */
            node: components["schemas"]["PrefixHash"];
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
            /** @description The words of the query that it has. */
            shared: string[];
            /** @description The part of the message that fits best. */
            text: string;
        };
        /** @description A message of a path. */
        PathMessage: {
            /** @description Whether the model does not see it. */
            hidden: boolean;
            /** @description What happened to memories at it: those of the chat and of all who speak in it. */
            memory: components["schemas"]["StoryEvent"][];
            /** @description The id of the message, the same on all branches. */
            message: components["schemas"]["MessageId"];
            /** @description The speaker's name. */
            name?: string | null;
            /** @description Whether it is a narrator's line. */
            narrator: boolean;
            /** @description The node: names the story up to here. */
            node: components["schemas"]["PrefixHash"];
            /** @description Its number on the path, from 1. */
            number: number;
            reply_to?: components["schemas"]["TurnId"] | null;
            /** @description Who speaks. */
            role: components["schemas"]["Role"];
            /** @description What is said. */
            text: string;
            turn?: components["schemas"]["TurnBrief"] | null;
            /** @description All versions of this message, itself among them: the swipes. */
            versions: components["schemas"]["PrefixHash"][];
        };
        /** @description A part of a path. */
        PathView: {
            /** @description Asks for the messages before these, as `before`; none at the beginning. */
            before?: number | null;
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description Whether the path ends where the story is. */
            current: boolean;
            /** @description The messages, oldest first. */
            messages: components["schemas"]["PathMessage"][];
            /** @description The end of the path. */
            tip: components["schemas"]["PrefixHash"];
            /** @description Messages on the whole path. */
            total: number;
            /**
             * Format: int64
             * @description The chat's version.
             */
            version: number;
        };
        /** @description A persona, or changes of one. What is not given stays. */
        PersonaBody: {
            /** @description Who that is. */
            description?: string | null;
            /** @description The id of a new one; made of its name without it. */
            id?: string | null;
            /** @description The name. */
            name?: string | null;
            /** @description A line for lists. */
            title?: string | null;
            /** @description Whether new stories use it. Only one persona is. */
            usual?: boolean | null;
        };
        /** @description All personas. */
        PersonasView: {
            /** @description The personas, by name. */
            items: components["schemas"]["PersonaView"][];
        };
        /** @description A persona. */
        PersonaView: {
            /** @description Who that is. */
            description: string;
            /** @description Its id. */
            id: string;
            /** @description The name: `{{user}}`. Books that are attached to a persona go by it. */
            name: string;
            portrait?: components["schemas"]["FileVersion"] | null;
            /**
             * Format: int64
             * @description The revision that last changed it.
             */
            revision: number;
            /** @description A line for lists. */
            title: string;
            /** @description Whether new stories use it. */
            usual: boolean;
        };
        /** @description Whom a thread follows. */
        PinThreadBody: {
            /** @description The character. */
            character: string;
            /** @description Whether it follows the character, or no longer. */
            pinned: boolean;
        };
        /** @description A place in a prompt that text can be put into. Every source of text uses these. */
        Place: "before_main" | "after_main" | "before_character" | "after_character" | "before_examples" | "after_examples" | "note_top" | "note_bottom" | {
            /** @description Inside the chat, so many messages from its end. */
            at_depth: components["schemas"]["Depth"];
        } | {
            /** @description Where the prompt says `{{outlet::name}}`. */
            outlet: string;
        } | {
            /** @description A named slot of the prompt template. */
            slot: string;
        };
        /** @description Position, depth, role and order of an entry. */
        Placement: {
            depth?: components["schemas"]["Depth"] | null;
            /**
             * Format: double
             * @description Lower is earlier in the prompt. `None` compares equal to everything, as in
             *     SillyTavern.
             */
            order?: number | null;
            /** @description The place. */
            position: components["schemas"]["Position"];
            role?: components["schemas"]["Role"] | null;
        };
        /** @description What is asked for. */
        PlayBody: {
            /**
             * @description The node that this follows; where the story is without it. For another version of a reply
             *     it is the message before the reply, and for `continue` the message to continue.
             * @default null
             */
            after: string | null;
            /**
             * @description What is asked for. The message of `impersonate` is not stored.
             * @default normal
             */
            generation: components["schemas"]["GenerationType"];
            /**
             * @description The model and how it writes, for this turn only.
             * @default {}
             */
            model: components["schemas"]["ModelChoice"];
            /**
             * Format: int64
             * @description Another number asks a server that takes seeds for another reply.
             * @default null
             */
            seed: number | null;
            /**
             * @description The id of the character who speaks; whose turn it is without it.
             * @default null
             */
            speaker: string | null;
            /**
             * @description What the user says first.
             * @default null
             */
            text: string | null;
        };
        /** @description Somebody who takes part in a story. */
        PlayerView: {
            /** @description The id. */
            id: string;
            /** @description The name. */
            name: string;
            portrait?: components["schemas"]["FileVersion"] | null;
        };
        /** @description A place in the prompt, as lore formats name it. */
        Position: "default" | "before_character" | "after_character" | "note_top" | "note_bottom" | "examples_top" | "examples_bottom" | {
            at_depth: components["schemas"]["Position_at_depth"];
        } | {
            /** @description A named place that a prompt asks for by `{{outlet::name}}`. */
            outlet: string;
        } | "before_description" | "after_description" | "personality" | "scenario" | {
            /** @description A named slot of the prompt template. */
            slot: string;
        } | "nowhere";
        /** @description Inside the chat. */
        Position_at_depth: {
            /** @description Which end is counted from. */
            from: components["schemas"]["DepthFrom"];
        };
        /** @description The exact state of a story: the hash of all message ids up to a point. */
        PrefixHash: string;
        /** @description A preset, or changes of one. What is not given stays. */
        PresetBody: {
            choice?: components["schemas"]["ModelChoice"] | null;
            /** @description Its name. */
            name?: string | null;
        };
        /** @description All presets. */
        PresetsView: {
            /** @description The presets, by name. */
            items: components["schemas"]["PresetView"][];
        };
        /** @description A preset. */
        PresetView: {
            /** @description How a model writes with it. If it names a model, it chooses that, too. */
            choice: components["schemas"]["ModelChoice"];
            /** @description Its id. */
            id: string;
            /** @description Its name. */
            name: string;
            /**
             * Format: int64
             * @description The revision that last changed it.
             */
            revision: number;
        };
        /** @description What to try out. */
        PreviewBody: {
            /** @description Whose books. */
            books?: components["schemas"]["Books"];
            /** @description Changes of entries of those books, by their ids (RFC 7396). */
            entries?: Record<string, never>;
            /**
             * @description Changes of memory's slots (RFC 7396), as `set.memory` of the settings. With any, memory is
             *     injected again from what is known on that path today.
             */
            memory?: Record<string, never>;
            /** @description Changes of the engine's rules (RFC 7396). */
            rules?: Record<string, never>;
            /**
             * Format: int64
             * @description In place of `books`: the lore of this run of `POST /replay`.
             */
            run?: number | null;
            /**
             * @description Decide it as a turn of this character: with its character filters, its books, and what
             *     memory lets it know. What the front end wrote for the other character stays.
             */
            speaker?: string | null;
            /** @description Entries to leave out. */
            without?: components["schemas"]["EntryId"][];
        };
        /** @description A turn as it would be. */
        PreviewView: {
            /** @description How the pools would use their budgets. */
            budgets: components["schemas"]["BudgetUse"][];
            /** @description What is different in the prompt that was sent, as lines. */
            lines: components["schemas"]["LineChange"][];
            lore?: components["schemas"]["TurnChange"] | null;
            /** @description The prompt, measured; `unchanged` compares it with the prompt that was sent. */
            prompt: components["schemas"]["PromptMap"];
            speaker?: components["schemas"]["AsSpeaker"] | null;
            /** @description What would be woven in, carried on or cut. */
            threads: components["schemas"]["Thread"][];
        };
        /** @description A refused call (RFC 9457). */
        Problem: {
            /** @description The kind for programs. */
            code: components["schemas"]["ProblemCode"];
            /** @description The rule that was broken and what was found. */
            detail: string;
            error?: components["schemas"]["ModelError"] | null;
            /** @description The field, parameter or header that is wrong. */
            field?: string | null;
            /** @description What was found. */
            found?: unknown;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description The kind in words. */
            title: string;
            /** @description Names the kind of problem: `urn:loreloom:problem:` and the code. */
            type: string;
        };
        /**
         * @description The kinds of problems.
         * @enum {string}
         */
        ProblemCode: "unreadable" | "unknown_field" | "wrong_value" | "key_missing" | "key_unknown" | "key_scope" | "forbidden" | "not_found" | "wrong_method" | "outdated" | "conflict" | "bad_cursor" | "wrong_type" | "too_large" | "head_too_large" | "too_slow" | "switched_off" | "failed";
        /** @description How far a run is and what it found. */
        Progress: {
            /** @description Those of them that look accidental. */
            accidental: number;
            /** @description Texts that come in, over all turns. */
            appeared: number;
            /** @description Turns that change. */
            changed: number;
            /** @description Chats in all. */
            chats: number;
            /** @description Chats done. */
            chats_done: number;
            /** @description Turns that no longer fit the budget. */
            over_budget: number;
            /** @description Texts that say something else. */
            rewritten: number;
            /** @description Chats that could not be run, and why. */
            skipped: components["schemas"]["Skipped"][];
            /** @description Its state. */
            state: components["schemas"]["RunState"];
            /** @description Turns done. */
            turns: number;
            /** @description Texts that go. */
            vanished: number;
        };
        /** @description A measured prompt. */
        PromptMap: {
            /** @description The messages. */
            messages: components["schemas"]["MappedMessage"][];
            /** @description The injected texts, in the order of the prompt. */
            spans: components["schemas"]["MappedSpan"][];
            /** @description The tokenizer that counted. */
            tokenizer: string;
            /**
             * Format: int32
             * @description Tokens of the whole.
             */
            tokens: number;
            unchanged?: components["schemas"]["Unchanged"] | null;
        };
        /** @description Why an entry fired or did not. */
        Proof: components["schemas"]["VerdictRow"] & {
            /** @description The verdict in English with all it took: down to what was said. */
            chain: string;
            fix?: components["schemas"]["FixView"] | null;
            /** @description The ranges of that text in the prompt. */
            spans: components["schemas"]["ProofSpan"][];
            /** @description Its text in the prompt. */
            text?: string | null;
        };
        /** @description The range of a text. */
        ProofSpan: {
            /** @description One past the last byte. */
            end: number;
            /** @description The message of the prompt, counted from 0. */
            message: number;
            /** @description First byte inside that message's text. */
            start: number;
        };
        /** @description Where an injected text comes from. */
        Provenance: {
            lore: components["schemas"]["Provenance_lore"];
        } | "authors_note" | {
            /** @description A memory tier, by its slot's name. */
            memory: string;
        };
        /** @description An entry of a book. */
        Provenance_lore: {
            /** @description The book. */
            book: components["schemas"]["BookId"];
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
        };
        /** @description A record of any kind. */
        PutBody: {
            /** @description What it says. */
            fields: Record<string, never>;
            /** @description Whose it is. */
            owner: components["schemas"]["Owner"];
            /** @description What it is. */
            tier: components["schemas"]["RecordKind"];
        };
        /** @description The answer to a question. */
        QuestionAnswer: {
            /** @description Why there is none; the job tries again later. */
            failure?: string | null;
            /** @description Whether the front end gave up for its user. The job tries again as often as needed. */
            taken_back?: boolean;
            /** @description The model's reply. */
            text?: string | null;
        };
        /** @description A question of memory; without an `id` there is none now. */
        QuestionView: {
            /**
             * Format: int64
             * @description Its number.
             */
            id?: number | null;
            /**
             * Format: int32
             * @description The longest reply, in tokens.
             */
            max_tokens?: number | null;
            /** @description The prompt. */
            messages: components["schemas"]["AskedMessage"][];
        };
        /** @description A job that was queued. */
        Queued: {
            /**
             * Format: int64
             * @description The job.
             */
            job: number;
        };
        /** @description A reply as the model gave it. */
        RawReply: {
            /** @description Whether there was more of it. */
            cut: boolean;
            /** @description The text, or its beginning. */
            text: string;
        };
        /** @description A turn as it is stored. */
        RawTurn: {
            /** @description When it was stored. */
            created: components["schemas"]["Timestamp"];
            /** @description Everything it decided and was given: the form of an exported chat's turns. */
            record: Record<string, never>;
            /** @description Its line in the list of turns. */
            turn: components["schemas"]["TurnSummary"];
        };
        /** @description The rule that let an entry in. */
        Reason: {
            /** @enum {string} */
            code: "key";
        } | {
            /** @enum {string} */
            code: "constant";
        } | {
            /** @enum {string} */
            code: "sticky";
            /** @description The chat length at which it ends. */
            until: components["schemas"]["MessageCount"];
        } | {
            /** @enum {string} */
            code: "decorator";
        } | {
            /** @enum {string} */
            code: "forced";
        } | {
            /** @enum {string} */
            code: "bootstrap";
        } | {
            /** @enum {string} */
            code: "active_character";
        } | {
            /** @enum {string} */
            code: "cascade";
            /** @description That note. */
            from: components["schemas"]["EntryId"];
        } | {
            /** @enum {string} */
            code: "linked";
            /** @description That note. */
            from: components["schemas"]["EntryId"];
        } | {
            /** @enum {string} */
            code: "fuzzy";
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
        } | {
            /** @enum {string} */
            code: "pinned";
        } | {
            /** @enum {string} */
            code: "selected";
            /** @description How sure it was. */
            confidence: string;
            /** @description What it said. */
            why: string;
        } | {
            /** @enum {string} */
            code: "fallback";
            /** @description The rule. */
            to: components["schemas"]["Fallback"];
        } | {
            /** @enum {string} */
            code: "kept";
            /** @description The user message of that turn. */
            since: components["schemas"]["MessageId"];
        } | {
            /** @enum {string} */
            code: "semantic";
            /**
             * Format: double
             * @description How near.
             */
            score: number;
            /**
             * Format: double
             * @description How near it had to be, where that was asked.
             */
            threshold?: number | null;
        };
        /**
         * @description What found a message of the story.
         * @enum {string}
         */
        RecallChannel: "words" | "meaning" | "neighbours" | "names" | "answers" | "recency";
        /** @description An old message that is in the prompt again. */
        RecalledMessage: {
            /** @description What found it, most important first. */
            channels: components["schemas"]["ChannelScore"][];
            /** @description The message. */
            message: components["schemas"]["MessageId"];
            /** @description Its number on the path, from 1. */
            number: components["schemas"]["MessageCount"];
            /** @description The words of the turn that it has. */
            shared: string[];
            /** @description Who says it. */
            speaker?: string | null;
            /** @description The piece of it that is shown. */
            text: string;
        };
        /** @description What the recap is made from. */
        RecapBody: {
            /**
             * @description Only if nobody has written for some hours.
             * @default false
             */
            if_away: boolean;
            /**
             * @description How many of the newest messages it is made from; 40 by default.
             * @default null
             */
            messages: number | null;
        };
        /** @description What happened before. */
        RecapView: {
            /**
             * Format: int64
             * @description Hours since the last message, if that is long enough for a recap.
             */
            away_hours?: number | null;
            /** @description The recap; none if the model has none, or nobody was away. */
            recap?: string | null;
        };
        /** @description Something that happened to a record. */
        RecordEvent: {
            /**
             * Format: int64
             * @description When, in milliseconds since 1970.
             */
            at: number;
            /** @description What it changed. */
            change: unknown;
            chat?: components["schemas"]["ChatId"] | null;
            /** @description What happened. */
            kind: components["schemas"]["EventKind"];
            /**
             * Format: int64
             * @description Its number among its owner's events.
             */
            number: number;
            /** @description The messages it rests on. */
            receipts: components["schemas"]["MessageId"][];
            /** @description The write it belongs to. */
            write: string;
        };
        /** @description A record with everything that happened to it. */
        RecordHistory: {
            /** @description What happened, oldest first. */
            events: components["schemas"]["RecordEvent"][];
            record?: components["schemas"]["RecordView"] | null;
        };
        /**
         * @description What a record is.
         * @enum {string}
         */
        RecordKind: "memory" | "entity" | "relationship" | "insight" | "pinned_arc" | "canon" | "session_memory" | "session_entity" | "scene" | "arc" | "arc_summary" | "profile" | "state_card" | "summary" | "marks" | "read_only" | "contradiction";
        /** @description Changes of a record. */
        RecordPatch: {
            /** @description Whose it is. */
            owner: components["schemas"]["Owner"];
            /** @description Fields to change; `null` takes one away. */
            set: Record<string, never>;
        };
        /** @description Something remembered. */
        RecordView: {
            /** @description Whether it is in use: neither retired nor replaced nor held. */
            active: boolean;
            /** @description What it says. */
            fields: Record<string, never>;
            /** @description Its id among its owner's records; its tier, where there is only one of it. */
            id: string;
            /** @description Whose it is. */
            owner: components["schemas"]["Owner"];
            /** @description What it is. */
            tier: components["schemas"]["RecordKind"];
        };
        /** @description How an entry takes part in recursion. */
        Recursion: {
            /**
             * Format: int32
             * @description Only from this recursion level on; 0 is at once.
             */
            delay_level: number;
            /** @description Cannot be activated by other entries. */
            exclude: boolean;
            /** @description Does not activate other entries. */
            prevent: boolean;
            /** @description Whether its keys are looked for in lore; `None` leaves it to the engine. */
            scan_lore?: boolean | null;
        };
        /** @description Entries to remove. */
        Remove: {
            /** @description Tell what would go, and remove nothing. */
            dry_run?: boolean;
            /** @description Which entries. */
            select: components["schemas"]["Selection"];
        };
        /** @description Something that was removed. */
        Removed: {
            /** @description Its id. */
            id: string;
        };
        /** @description A book that was taken out. */
        RemovedBook: {
            /** @description Its id. */
            id: components["schemas"]["BookId"];
        };
        /** @description A text to find and what to put in its place. */
        Replace: {
            /** @description Whether capitals matter. */
            case_sensitive?: boolean;
            /** @description Tell what would change, and change nothing. */
            dry_run?: boolean;
            /** @description Where to look; in the text alone without it. */
            fields?: components["schemas"]["TextField"][] | null;
            /** @description What to find. */
            find: string;
            /** @description Whether `find` is a regular expression. */
            regex?: boolean;
            /** @description Which entries. */
            select: components["schemas"]["Selection"];
            /** @description What to put in its place; with `regex`, `$1` is the first group. */
            with: string;
        };
        /** @description What to replay. */
        ReplayBody: {
            /** @description The chats; all without it. */
            chats?: components["schemas"]["ChatId"][] | null;
            patch?: components["schemas"]["LorePatch"] | null;
        };
        /** @description What a revision changed. */
        RevisionChanges: {
            /** @description What differs, document by document. */
            items: components["schemas"]["DocumentChange"][];
            /**
             * Format: int64
             * @description Its number.
             */
            number: number;
        };
        /** @description A change of books, rules or settings. */
        RevisionView: {
            /** @description What was changed. */
            changes: components["schemas"]["ChangedView"][];
            /**
             * Format: int64
             * @description When, in milliseconds since 1970.
             */
            created: number;
            /**
             * Format: int64
             * @description Its number.
             */
            number: number;
            /** @description Takes it back, as `POST /undo` takes it. */
            undo: string;
            /**
             * Format: int64
             * @description The revision that it took back.
             */
            undoes?: number | null;
        };
        /** @description A key that is no more. */
        RevokedKey: {
            /** @description What was known of it. */
            item: components["schemas"]["KeyView"];
        };
        /**
         * @description Who a message is from, as models know it.
         * @enum {string}
         */
        Role: "system" | "user" | "assistant" | "tool";
        /** @description How a prompt fits into the model's context. */
        RoomUse: {
            /**
             * @description The size of the context.
             * @default 0
             */
            context: components["schemas"]["Tokens"];
            /**
             * @description The lore and memory that gave way, in order.
             * @default []
             */
            given_up: components["schemas"]["GivenUp"][];
            /**
             * @description The oldest messages of the chat that were not sent. They stay in the stored story.
             * @default []
             */
            left_out: components["schemas"]["LeftOutMessage"][];
            /** @default null */
            over: components["schemas"]["Tokens"] | null;
            /** @default null */
            prompt: components["schemas"]["Tokens"] | null;
            /**
             * @description What is kept free for the reply.
             * @default 0
             */
            reply: components["schemas"]["Tokens"];
            /**
             * @description Whether a setting, the request or the model's server stated that size. If not, it is
             *     assumed, and nothing gives way.
             * @default false
             */
            stated: boolean;
        };
        /** @description Where the next turn goes. */
        RoutedModel: {
            /** @description The connection. */
            connection: string;
            /** @description Whether it is the storyteller that is built in. */
            is_storyteller: boolean;
            /** @description The model; none if nothing names one. */
            model?: string | null;
            /** @description Why the connection cannot be used, if it cannot. */
            problem?: string | null;
        };
        /** @description Requests for models of this name go there. */
        RouteSetting: {
            /** @description The connection. */
            connection: components["schemas"]["ConnectionId"];
            /** @description The model's name; `*` matches any letters, `?` one. */
            models: string;
        };
        /** @description Which request goes where, and which connection does what. */
        RoutesView: {
            /** @description What works now. */
            effective: components["schemas"]["EffectiveRoutes"];
            /** @description The features that are being switched: an embedder embeds all lore first. */
            pending: string[];
            /** @description Why what was set here does not work. */
            problems: string[];
            /** @description What was set here; where it says nothing, the configuration does. */
            set: components["schemas"]["Routing"];
        };
        /** @description A route as it works. */
        RouteView: {
            /** @description The connection that requests for them go to. */
            connection: components["schemas"]["ConnectionId"];
            /** @description The models' names. */
            models: string;
            /** @description Whether it was set here; the others are of the configuration. */
            set: boolean;
        };
        /**
         * @description Which request goes where and which connection does what, as it was set through the API.
         *     Where it says nothing, the configuration does.
         */
        Routing: {
            /**
             * @description Features.
             * @default {}
             */
            features: components["schemas"]["Features"];
            /**
             * @description Routes, the first that fits wins; they come before the configuration's.
             * @default []
             */
            routes: components["schemas"]["RouteSetting"][];
        };
        /**
         * @description The state of a run.
         * @enum {string}
         */
        RunState: "running" | "done" | "cancelled";
        /** @description All runs. */
        RunsView: {
            /** @description The last runs, newest first. */
            items: components["schemas"]["RunView"][];
        };
        /** @description A run. */
        RunView: components["schemas"]["Progress"] & {
            /**
             * Format: int64
             * @description Its number.
             */
            id: number;
            patch?: components["schemas"]["LorePatch"] | null;
        };
        /** @description A message of a story. */
        Said: {
            /** @description What is said. */
            content: string;
            /** @description Whether the model shall not see it. */
            hidden?: boolean;
            /** @description The speaker's name. */
            name?: string | null;
            /** @description Whether it is a narrator's line, which nobody speaks. Its role does not count. */
            narrator?: boolean;
            /** @description Who speaks. */
            role: components["schemas"]["Role"];
        };
        /**
         * @description A phase of the scan loop.
         * @enum {string}
         */
        ScanPhase: "initial" | "recursion" | "min_activations";
        /** @description How much text is scanned for keys. */
        ScanRange: {
            /**
             * Format: int32
             * @description Characters of the newest text, whatever the engine's depth in messages is (`NovelAI`);
             *     not counted where an entry's keys are looked for in lore too.
             */
            characters?: number | null;
            /**
             * Format: double
             * @description Messages; `None` leaves it to the book or the engine. Negative numbers occur in
             *     files and scan nothing.
             */
            messages?: number | null;
            /**
             * Format: int32
             * @description Tokens of the newest text, in prompts that are text (`@@instruct_scan_depth`).
             */
            tokens?: number | null;
        };
        /** @description A scene to change. What is not given stays; lists are replaced. */
        ScenePatch: {
            /** @description The blocked notes. */
            blocks?: components["schemas"]["MarkedNote"][] | null;
            /** @description Fields to set; `null` removes one. */
            fields?: Record<string, never> | null;
            /** @description The folders. */
            folders?: string[] | null;
            /** @description The pinned notes. */
            pins?: components["schemas"]["MarkedNote"][] | null;
        };
        /** @description The scene of a chat. */
        SceneView: {
            /** @description Notes that are never in. */
            blocks: components["schemas"]["MarkedNote"][];
            /** @description Era, place and other fields that notes of vaults ask for. */
            fields: Record<string, never>;
            /** @description Only notes in these folders are used; none means all folders. */
            folders: string[];
            /** @description Notes that are always in. */
            pins: components["schemas"]["MarkedNote"][];
        };
        /**
         * @description What a key allows.
         * @enum {string}
         */
        Scope: "read" | "write" | "proxy" | "admin";
        /** @description A session that leaves no trace unless it is kept. */
        ScratchView: {
            from?: components["schemas"]["PrefixHash"] | null;
            /**
             * Format: int64
             * @description The job that extracts memories from it, if it was kept and a model is set.
             */
            job?: number | null;
            /** @description Whether one is open. */
            open: boolean;
        };
        /** @description What to look for. */
        SearchBody: {
            /** @description Also in what this character remembers. */
            character?: string | null;
            /**
             * Format: double
             * @description How like it a memory must be; 0.3 without it.
             */
            min?: number | null;
            /** @description How many of each; 10 without it. */
            most?: number | null;
            /** @description What to look for. */
            text: string;
        };
        /** @description The secondary keys. */
        Secondary: {
            /** @description Whether they count at all (SillyTavern's `selective`). */
            active: boolean;
            /** @description The keys. */
            keys: string[];
            /** @description How they combine. */
            logic: components["schemas"]["SelectiveLogic"];
        };
        /** @description Which entries. */
        Selection: {
            /** @description But not these. */
            except?: components["schemas"]["EntryId"][];
            /** @description Or those that fit a filter. */
            f?: string | null;
            /** @description These. */
            ids?: components["schemas"]["EntryId"][] | null;
        };
        /**
         * @description How secondary keys combine.
         * @enum {string}
         */
        SelectiveLogic: "and_any" | "not_all" | "not_any" | "and_all" | "unknown";
        /**
         * @description How a server is spoken to.
         * @enum {string}
         */
        ServerKind: "openai" | "ollama";
        /** @description With `/v1` for `openai`, without a path for `ollama`. */
        ServerUrl: string;
        /** @description A setting with its value. */
        SettingRow: {
            /** @description Whether the value differs from the default. */
            changed: boolean;
            /** @description The words of a choice. */
            choices?: string[];
            /** @description Our default. */
            default: unknown;
            /** @description What other programs call it. */
            elsewhere: components["schemas"]["NameElsewhere"][];
            /** @description What it does. */
            help: string;
            /** @description `switch`, `integer`, `number`, `text`, `choice`, `texts` or `data`. */
            kind: string;
            /**
             * Format: double
             * @description The smallest number.
             */
            least?: number | null;
            /**
             * Format: double
             * @description The largest number.
             */
            most?: number | null;
            /** @description Its name. */
            name: string;
            /** @description Whether it may be `"none"`. */
            optional: boolean;
            /** @description Its values in other profiles, by their names. */
            profiles?: Record<string, never>;
            /** @description Where it can be set: `server`, `book`, `vault`, `character`, `chat`. */
            scopes: string[];
            /** @description The part of its name before the first dot. */
            section: string;
            /** @description What the section is about. */
            section_title: string;
            /**
             * @description Where the value comes from: `default`, `profile`, `file`, `flag`, `stored`, or `character`
             *     or `chat` if it was set for one.
             */
            source: string;
            /**
             * @description When a change takes effect: `at_once`, `after_restart`, or `at_start` if only the
             *     configuration file and flags can set it.
             */
            takes_effect: string;
            /** @description What a number counts; empty for none. */
            unit: string;
            /** @description What works now. An address has no password. */
            value: unknown;
        };
        /** @description The setup of a story and what follows from it. */
        SetupView: {
            /** @description Whether somebody set it. A story of another front end has none. */
            is_set: boolean;
            /** @description The id of the character who speaks next. */
            next?: string | null;
            persona?: components["schemas"]["PlayerView"] | null;
            /** @description The characters. */
            players: components["schemas"]["PlayerView"][];
            /** @description Where the next turn goes. */
            routed: components["schemas"]["RoutedModel"];
            /** @description What was set, or what fits the messages. */
            setup: components["schemas"]["KeptStory"];
            /** @description The user's name. */
            user: string;
        };
        /** @description The messages that a front end shows. */
        ShownPath: {
            /** @description The messages, oldest first; also hidden ones. */
            messages: components["schemas"]["Said"][];
            /** @description The name of the chat, if it has to be made. */
            title?: string | null;
        };
        /** @description A chat that could not be run. */
        Skipped: {
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description Why. */
            reason: string;
        };
        /** @description Texts of one place and role, joined. */
        Slot: {
            /** @description The texts one by one. */
            injections: components["schemas"]["Injection"][];
            /** @description Where they go. */
            place: components["schemas"]["Place"];
            /** @description Their role. */
            role: components["schemas"]["Role"];
            /** @description The texts, one under the other. */
            text: string;
            /** @description Their tokens. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description How a slot of memory goes into prompts. */
        SlotView: {
            /**
             * Format: int32
             * @description What it may take, in tokens; none for a slot without a budget of its own.
             */
            budget?: number | null;
            /** @description The setting of its budget; none for a slot without a budget of its own. */
            budget_setting?: string | null;
            /**
             * Format: int32
             * @description How deep, inside the chat.
             */
            depth: number;
            /** @description What prompts and reports call it. */
            name: string;
            /**
             * @description `IN_PROMPT` with the card, `IN_CHAT` so many messages from its end, or `BEFORE` the
             *     main prompt.
             */
            position: string;
            /** @description The role of its message. */
            role: components["schemas"]["Role"];
            /** @description The slot, as `memory.places` names it. */
            slot: string;
            /** @description How the server was started with it. */
            usual: components["schemas"]["UsualSlot"];
        };
        /**
         * @description Where a woven text comes from.
         * @enum {string}
         */
        SourceKind: "lorebook" | "vault" | "memory" | "note";
        /** @description A change of what a chat carries on. */
        StateWrote_NotebooksView: {
            /** @description The notebooks of a chat. */
            item: {
                /** @description What the author wrote. */
                author: string;
                /** @description What the model noted, a line each. */
                model: string;
            };
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description A change of what a chat carries on. */
        StateWrote_SceneView: {
            /** @description The scene of a chat. */
            item: {
                /** @description Notes that are never in. */
                blocks: components["schemas"]["MarkedNote"][];
                /** @description Era, place and other fields that notes of vaults ask for. */
                fields: Record<string, never>;
                /** @description Only notes in these folders are used; none means all folders. */
                folders: string[];
                /** @description Notes that are always in. */
                pins: components["schemas"]["MarkedNote"][];
            };
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /**
         * @description A step of a diagnosis, in order.
         * @enum {string}
         */
        Step: "name" | "port" | "tls" | "path" | "key" | "models" | "stream" | "tokenizer" | "context";
        /** @description What a step found. */
        StepFinding: {
            /** @description What to do about it. */
            fix?: string | null;
            /** @description What was found. */
            found: string;
            /** @description The names of the server's models, at the step that lists them. */
            models?: string[];
            /** @description How it went. */
            outcome: components["schemas"]["StepOutcome"];
            /** @description The step. */
            step: components["schemas"]["Step"];
        };
        /**
         * @description How a step went.
         * @enum {string}
         */
        StepOutcome: "passed" | "doubtful" | "skipped" | "failed";
        /** @description The rule that stopped an entry. */
        Stop: {
            /** @enum {string} */
            code: "disabled";
        } | {
            /** @enum {string} */
            code: "trigger";
            /** @description What was asked for. */
            found: string;
            /** @description What it is for. */
            wanted: string[];
        } | {
            /** @enum {string} */
            code: "character";
            /** @description Whether the list excludes. */
            exclude: boolean;
            /** @description The names it lists. */
            listed: string[];
        } | {
            /** @enum {string} */
            code: "tag";
            /** @description Whether the list excludes. */
            exclude: boolean;
            /** @description The tags it lists. */
            listed: string[];
        } | {
            /** @enum {string} */
            code: "delay";
            /** @description The length it waits for. */
            until: components["schemas"]["MessageCount"];
        } | {
            /** @enum {string} */
            code: "cooldown";
            /** @description The length at which it may fire again. */
            until: components["schemas"]["MessageCount"];
        } | {
            /** @enum {string} */
            code: "recursion_level";
            /**
             * Format: int32
             * @description The level it waits for.
             */
            level: number;
        } | {
            /** @enum {string} */
            code: "recursion_limit";
            /**
             * Format: int32
             * @description The steps it takes.
             */
            steps: number;
        } | {
            /** @enum {string} */
            code: "excluded_from_recursion";
        } | {
            /** @enum {string} */
            code: "suppressed";
        } | {
            /** @enum {string} */
            code: "no_keys";
        } | {
            /** @enum {string} */
            code: "no_key_found";
        } | {
            /** @enum {string} */
            code: "key_too_slow";
            /** @description Why it was given up. */
            cost: components["schemas"]["KeyCost"];
            /** @description The key. */
            key: string;
        } | {
            /** @enum {string} */
            code: "not_near";
            /**
             * Format: double
             * @description How near it is; `None` if others are nearer.
             */
            score?: number | null;
            /**
             * Format: double
             * @description How near it had to be.
             */
            threshold: number;
        } | {
            /** @enum {string} */
            code: "low_score";
            /**
             * Format: double
             * @description How well it had to.
             */
            needed: number;
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
        } | {
            /** @enum {string} */
            code: "search_limit";
            /** @description How many notes are looked at. */
            most: number;
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
        } | {
            /**
             * Format: int32
             * @description How many characters of them, where it counts those.
             */
            characters?: number | null;
            /** @enum {string} */
            code: "out_of_reach";
            /**
             * Format: int32
             * @description How many messages it scans.
             */
            depth: number;
            /**
             * Format: int32
             * @description The message, counted from the newest, from 0.
             */
            distance: number;
            /** @description The key. */
            key: string;
            /**
             * Format: int32
             * @description How many tokens of them, where it counts those.
             */
            tokens?: number | null;
        } | {
            /** @enum {string} */
            code: "copied";
            /** @description That entry. */
            of: components["schemas"]["EntryId"];
        } | {
            /** @enum {string} */
            code: "copy_of_nothing";
        } | {
            /** @enum {string} */
            code: "secondary";
            /** @description Those that were found. */
            found: string[];
            /** @description The primary key. */
            key: string;
            /** @description How the secondary keys combine. */
            logic: components["schemas"]["SelectiveLogic"];
            /** @description Those that were not. */
            missing: string[];
        } | {
            /** @enum {string} */
            code: "group";
            /** @description The group. */
            group: string;
            /** @description Why it lost. */
            rule: components["schemas"]["GroupRule"];
            winner?: components["schemas"]["EntryId"] | null;
        } | {
            /** @enum {string} */
            code: "chance";
            /**
             * Format: double
             * @description What it had to stay at or below.
             */
            probability: number;
            /**
             * Format: double
             * @description The roll in per cent.
             */
            roll: number;
        } | {
            /** @enum {string} */
            code: "budget";
            /** @description What was left. */
            left: components["schemas"]["Tokens"];
            /** @description What it needed. */
            needed: components["schemas"]["Tokens"];
            /**
             * @description By how much lore is over its budget already, which entries that ignore it and the
             *     line ends between entries can bring about.
             */
            over?: components["schemas"]["Tokens"];
        } | {
            /** @enum {string} */
            code: "over_budget";
            /** @description The budget. */
            limit: components["schemas"]["Tokens"];
            /** @description What it needed. */
            needed: components["schemas"]["Tokens"];
        } | {
            /** @enum {string} */
            code: "once";
            /** @description The user message of that turn. */
            since: components["schemas"]["MessageId"];
        } | (components["schemas"]["Gate"] & {
            /** @enum {string} */
            code: "gate";
        }) | {
            /** @enum {string} */
            code: "excluded";
            /** @description Those keys. */
            found: string[];
        } | {
            /** @enum {string} */
            code: "required";
            /** @description The keys of which one is needed. */
            missing: string[];
        } | {
            /** @enum {string} */
            code: "budget_closed";
            /** @description What it needed. */
            needed: components["schemas"]["Tokens"];
        } | {
            /** @enum {string} */
            code: "no_marker";
            /** @description The outlet or slot. */
            name: string;
        } | {
            /** @enum {string} */
            code: "no_room";
            /** @description What it needed. */
            needed: components["schemas"]["Tokens"];
        } | {
            /** @enum {string} */
            code: "warmup";
            /**
             * Format: int32
             * @description Occurrences there are.
             */
            found: number;
            /**
             * Format: double
             * @description Occurrences it waits for.
             */
            needed: number;
        } | {
            /** @enum {string} */
            code: "resting";
            /**
             * Format: int32
             * @description Generations left.
             */
            left: number;
        } | {
            /** @enum {string} */
            code: "context";
            /** @description The field. */
            field: string;
            /** @description What the note says. */
            note: string[];
            /** @description What the scene says. */
            scene: string[];
        } | {
            /** @description The folders that are. */
            chosen: string[];
            /** @enum {string} */
            code: "folder";
            /** @description The folder. */
            folder: string;
        } | {
            /** @enum {string} */
            code: "blocked";
        } | {
            /**
             * Format: int64
             * @description Generations since.
             */
            ago: number;
            /** @enum {string} */
            code: "reinjection";
            /**
             * Format: int32
             * @description Generations that must pass.
             */
            cooldown: number;
        } | {
            /** @enum {string} */
            code: "requires";
            /** @description Their titles. */
            missing: string[];
        } | {
            /** @enum {string} */
            code: "excludes";
            /** @description Their titles. */
            present: string[];
        } | {
            /** @enum {string} */
            code: "stripped";
            /**
             * Format: int64
             * @description In which generation.
             */
            generation: number;
        } | {
            /** @enum {string} */
            code: "max_entries";
            /**
             * Format: int32
             * @description How many there may be.
             */
            most: number;
        } | {
            /** @enum {string} */
            code: "not_selected";
            /** @description Its keys that were found. */
            keys?: string[];
        } | {
            /** @enum {string} */
            code: "unsure";
            /** @description How sure it was. */
            confidence: string;
            /** @description Its keys that were found. */
            keys?: string[];
            /** @description How sure it had to be. */
            needed: string;
        } | {
            /** @enum {string} */
            code: "guide";
        } | {
            /** @enum {string} */
            code: "fell_back";
            /** @description The rule. */
            to: components["schemas"]["Fallback"];
        };
        /** @description Something that happened at a message. */
        StoryEvent: {
            /** @description The start of the summary of how the arc ended. */
            ending?: string | null;
            /** @description The record. */
            id: string;
            /** @description What happened. */
            kind: components["schemas"]["StoryEventKind"];
            /** @description What it happened to. */
            of: components["schemas"]["StoryEventSubject"];
            /** @description Whose memory it is. */
            owner: components["schemas"]["Owner"];
            /** @description The start of the text that replaced it. */
            replaced_by?: string | null;
            /** @description The starts of the texts it replaced. */
            replaces: string[];
            /** @description The start of its text. */
            text: string;
        };
        /**
         * @description What happened to it.
         * @enum {string}
         */
        StoryEventKind: "created" | "superseded" | "retired" | "ended";
        /**
         * @description What something happened to.
         * @enum {string}
         */
        StoryEventSubject: "memory" | "scene" | "thread";
        /** @description A message with the words. */
        StoryHit: {
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description The words with what is around them. */
            excerpt: string;
            /** @description Who speaks. */
            name?: string | null;
            /** @description The message's node. */
            node: components["schemas"]["PrefixHash"];
            /** @description Its title. */
            title: string;
        };
        /** @description The messages with the words, those of the stories that changed last first. */
        StoryHits: {
            /** @description The messages. */
            items: components["schemas"]["StoryHit"][];
            /** @description Whether there may be more. */
            more: boolean;
        };
        /** @description The settings of one character or one chat. */
        StorySettings: {
            /**
             * Format: int64
             * @description The revision of the stored documents.
             */
            revision: number;
            /** @description Every setting that can be set there, with the value that counts there. */
            rows: components["schemas"]["SettingRow"][];
        };
        /** @description What to try out. */
        TemplateBody: {
            /** @description The blocks of the prompt; those that work now without it. */
            template?: string[] | null;
        };
        /** @description A prompt as a template builds it. */
        TemplatePreview: {
            /** @description The prompt, measured. What was woven into the turn is in its place. */
            prompt: components["schemas"]["PromptMap"];
        };
        /** @description Who owns the data: the leading key of every stored row. */
        TenantId: string;
        /** @description What to try out: a connection, settings as one would be set up with, or any server. */
        TestBody: {
            connection?: components["schemas"]["ConnectionId"] | null;
            /** @description That server's key. It is used for this test and nowhere kept. */
            key?: string | null;
            /** @description How that server is spoken to. */
            kind?: components["schemas"]["ServerKind"];
            /** @description The model of that server to ask. */
            model?: string | null;
            settings?: components["schemas"]["ConnectionSettings"] | null;
            /**
             * @description The address of a server that is not configured, for example `https://api.example.com/v1`.
             *     It must be one that everybody can reach.
             */
            url?: string | null;
        };
        /** @description What became of a test. */
        TestResult: {
            /** @description What it expects, in order. */
            checks: components["schemas"]["Check"][];
            /** @description The entries that fired. */
            fired: components["schemas"]["Fired"][];
            /** @description What the test is called. */
            name: string;
            /** @description Whether all it expects holds. */
            passed: boolean;
            /** @description Tokens of what fired. */
            tokens: components["schemas"]["Tokens"];
        };
        /** @description Tests to run. */
        TestsBody: {
            patch?: components["schemas"]["LorePatch"] | null;
            /** @description A file of tests, as `loreloom test` reads it. */
            yaml: string;
        };
        /** @description What became of tests. */
        TestsView: {
            /** @description How many do not. */
            failed: number;
            /** @description All of them, in order. */
            items: components["schemas"]["TestResult"][];
            /** @description How many hold. */
            passed: number;
        };
        /** @description How a connection did. */
        TestView: {
            /** @description The connection; the address for a server that is not configured. */
            connection: components["schemas"]["ConnectionId"];
            /** @description Whether no step failed. */
            passed: boolean;
            /**
             * @description The steps, each resting on those before: name, port, TLS, path, key, models, stream,
             *     tokenizer, context.
             */
            steps: components["schemas"]["StepFinding"][];
        };
        /**
         * @description Where to look.
         * @enum {string}
         */
        TextField: "content" | "name" | "comment" | "keys";
        /** @description A place in the text. */
        TextPlace: {
            /** @description One past the last byte. */
            end: number;
            /** @description The first byte (UTF-8). */
            start: number;
        };
        /** @description A text that is scanned for keys. */
        TextSource: {
            /**
             * Format: int32
             * @description Counted from the oldest message of the path, from 0.
             */
            index: number;
            /** @enum {string} */
            kind: "message";
            /** @description Its speaker. */
            name?: string | null;
            /** @description Its role. */
            role: components["schemas"]["Role"];
        } | {
            /**
             * Format: int32
             * @description The message, counted from the oldest of the path, from 0.
             */
            index: number;
            /** @enum {string} */
            kind: "speaker";
        } | {
            /** @enum {string} */
            kind: "persona";
        } | {
            /** @enum {string} */
            kind: "description";
        } | {
            /** @enum {string} */
            kind: "personality";
        } | {
            /** @enum {string} */
            kind: "depth_prompt";
        } | {
            /** @enum {string} */
            kind: "scenario";
        } | {
            /** @enum {string} */
            kind: "creator_notes";
        } | {
            /** @enum {string} */
            kind: "prompt";
            /** @description Its name. */
            name: string;
        } | {
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
            /** @enum {string} */
            kind: "entry";
        } | {
            /** @enum {string} */
            kind: "joined";
        };
        /** @description One text that was woven in at a turn, or had no room. */
        Thread: {
            book?: components["schemas"]["BookId"] | null;
            /** @description What kind of source it is. */
            kind: components["schemas"]["SourceKind"];
            place?: components["schemas"]["Place"] | null;
            /** @description The entry's id or the memory's slot. */
            source: string;
            /** @description Its state. */
            state: components["schemas"]["ThreadState"];
            /** @description What people call it. */
            title: string;
            /** @description The tokens of its text, or those it would have needed. */
            tokens: components["schemas"]["Tokens"];
        };
        /**
         * @description The state of a thread at a turn.
         * @enum {string}
         */
        ThreadState: "fired" | "carried" | "lingering" | "cut";
        /** @description Effects that last for some messages; `None` and 0 are none. */
        Timed: {
            /**
             * Format: int32
             * @description Cannot fire again for so many messages.
             */
            cooldown?: number | null;
            /**
             * Format: int32
             * @description Cannot fire in chats shorter than this.
             */
            delay?: number | null;
            /**
             * Format: int32
             * @description Stays active for so many messages.
             */
            sticky?: number | null;
        };
        /**
         * Format: int64
         * @description A moment in milliseconds since the Unix epoch, supplied by the host.
         */
        Timestamp: number;
        TokenizerSetting: ("auto" | "o200k_base" | "cl100k_base" | "p50k_base" | "r50k_base" | "estimate" | "estimate-3.35") | {
            file: string;
        };
        /**
         * Format: int32
         * @description A number of model tokens.
         */
        Tokens: number;
        /** @description How long a turn took, in milliseconds. */
        Took: {
            /**
             * Format: double
             * @description Until the model's server began to answer.
             */
            answered_ms: number;
            /**
             * Format: double
             * @description Until the whole reply had come.
             */
            replied_ms: number;
            /**
             * Format: double
             * @description What weaving added.
             */
            weaving_ms: number;
        };
        /** @description A node of the tree. */
        TreeNode: {
            /** @description Whether it is on the current path. */
            current: boolean;
            /** @description The beginning of the text. */
            excerpt: string;
            /** @description The message. */
            message: components["schemas"]["MessageId"];
            /** @description The speaker's name. */
            name?: string | null;
            /** @description Names the node. */
            node: components["schemas"]["PrefixHash"];
            /** @description Its position on the path, from 1. */
            number: number;
            /** @description The node before; all zeros for a first message. */
            parent: components["schemas"]["PrefixHash"];
            /** @description Who speaks. */
            role: components["schemas"]["Role"];
            /** @description The turns that were computed on it. */
            turns: components["schemas"]["TurnId"][];
        };
        /** @description All branches of a chat. */
        TreeView: {
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description The nodes, parents before children. */
            nodes: components["schemas"]["TreeNode"][];
            /** @description Where the story is. */
            tip: components["schemas"]["PrefixHash"];
            /**
             * Format: int64
             * @description The chat's version.
             */
            version: number;
        };
        /** @description What to try out. */
        TrialBody: {
            connection?: components["schemas"]["ConnectionId"] | null;
            /** @description The model; the first that the connection names without it. */
            model?: string | null;
            /** @description The trial. */
            trial: string;
        };
        /** @description The result of a trial. */
        TrialFinding: {
            /** @description What a good reply contains. */
            hint: string;
            /** @description What was read from the reply, one line each. */
            lines: string[];
            /** @description Whether the trial passed. */
            passed: boolean;
            /** @description The trial. */
            trial: components["schemas"]["ModelTrial"];
        };
        /** @description A trial that was run. */
        TrialRun: {
            /** @description The result. */
            finding: components["schemas"]["TrialFinding"];
            /** @description The model's reply. */
            reply: string;
            /** @description The trial. */
            trial: components["schemas"]["ModelTrial"];
        };
        /** @description How a model did. */
        TrialView: {
            /** @description What a good reply has. */
            hint: string;
            /** @description What was read out of the reply, one line each. */
            lines: string[];
            /** @description The model that was asked. */
            model: string;
            /** @description Whether what it found is enough. */
            passed: boolean;
            /** @description The reply. */
            reply: string;
            /** @description The trial. */
            trial: string;
        };
        /** @description What was found. */
        Tried: {
            /** @description The entries: those asked for, or all of which a key was found. */
            items: components["schemas"]["EntryHits"][];
        };
        /** @description What a model made of the trials. */
        TriedView: {
            /** @description The trials, in the order they were run. */
            items: components["schemas"]["TrialRun"][];
        };
        /** @description Trigger metadata of an activated entry. */
        Trigger: {
            /**
             * Format: int32
             * @description How many messages its scan covered.
             */
            depth: number;
            /** @description The entries whose text activated it. */
            parents: components["schemas"]["EntryId"][];
            /**
             * Format: int32
             * @description The pass of the scan loop, counted from 1.
             */
            pass: number;
            /** @description In which phase of the scan. */
            phase: components["schemas"]["ScanPhase"];
            primary?: components["schemas"]["KeyMatch"] | null;
            /** @description The rule that let it in. */
            reason: components["schemas"]["Reason"];
            /** @description The secondary keys that were found. */
            secondary: components["schemas"]["KeyMatch"][];
        };
        /** @description How an entry may be shortened. */
        Trim: {
            /** @description Which side is cut. */
            side: components["schemas"]["TrimSide"];
            /** @description In which units. */
            unit: components["schemas"]["TrimUnit"];
        };
        /**
         * @description The side that is cut.
         * @enum {string}
         */
        TrimSide: "none" | "top" | "bottom";
        /**
         * @description The unit that is cut.
         * @enum {string}
         */
        TrimUnit: "line" | "sentence" | "token";
        /** @description A text to try entries on. */
        Try: {
            /** @description The character's name, for keys that name it. */
            character?: string | null;
            /** @description Changes to the first of `entries` that are not saved yet (RFC 7396). */
            draft?: Record<string, never> | null;
            /** @description The entries to try; without them all whose keys are plain text or expressions. */
            entries?: components["schemas"]["EntryId"][] | null;
            /** @description The text. */
            text: string;
            /** @description The user's name, for keys that name it. */
            user?: string | null;
        };
        /** @description A turn as a message of the path shows it. */
        TurnBrief: {
            /** @description How the pools used their budgets. */
            budgets: components["schemas"]["BudgetUse"][];
            /** @description When. */
            created: components["schemas"]["Timestamp"];
            /** @description What was asked for. */
            generation: components["schemas"]["GenerationType"];
            /** @description Its number in the chat. */
            id: components["schemas"]["TurnId"];
            reply?: components["schemas"]["PrefixHash"] | null;
            /** @description What was woven in, carried on or cut. */
            threads: components["schemas"]["Thread"][];
            /** @description Whether its prompt and verdicts were given up to save space: then `threads` is empty. */
            trimmed: boolean;
        };
        /** @description A turn that two sets of books decide differently. */
        TurnChange: {
            /** @description Entries that only the new books bring in. */
            appeared: components["schemas"]["Fired"][];
            /** @description Messages on the path. */
            at: number;
            /** @description Everything fits that did not before. */
            now_in_budget: boolean;
            /** @description Something fits no more that fitted before. */
            now_over_budget: boolean;
            /** @description Entries that both bring in, with another text; as the new books have them. */
            rewritten: components["schemas"]["Fired"][];
            /** @description Tokens of the new books. */
            tokens_after: components["schemas"]["Tokens"];
            /** @description Tokens of the old books. */
            tokens_before: components["schemas"]["Tokens"];
            /** @description The turn's place in the replay, from 0. */
            turn: number;
            /** @description Entries that only the old books bring in. */
            vanished: components["schemas"]["Fired"][];
        };
        /** @description The main facts of a turn, for people who read its report. */
        TurnFacts: {
            answers?: components["schemas"]["MessageId"] | null;
            at?: components["schemas"]["Timestamp"] | null;
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description Messages on the path. */
            chat_length: components["schemas"]["MessageCount"];
            /** @description The model's context size. */
            context: components["schemas"]["Tokens"];
            /** @description What was asked for. */
            generation: components["schemas"]["GenerationType"];
            /** @description The compiled books. */
            library: components["schemas"]["LibraryVersion"];
            /** @description The user's persona. */
            persona?: string | null;
            /** @description The exact state of the story. */
            prefix: components["schemas"]["PrefixHash"];
            /**
             * Format: int64
             * @description The seed of all rolls.
             */
            seed: number;
            /** @description The character who speaks next. */
            speaker?: string | null;
            /** @description The tokenizer that counted. */
            tokenizer: string;
        };
        /** @description The figures of a turn. */
        TurnFigures: {
            /** @description How the pools used their budgets. */
            budgets: components["schemas"]["BudgetUse"][];
            /**
             * @description Tokens by where they come from: books and notes, and memory. The rest is what the
             *     front end sent.
             */
            by_source: components["schemas"]["BySource"];
            cost?: components["schemas"]["Cost"] | null;
            /** @description When it was stored, in milliseconds since 1970. */
            created: components["schemas"]["Timestamp"];
            /** @description Entries that had no room. */
            cut: number;
            /** @description Which entries those are, 20 of them at most. */
            cut_entries: components["schemas"]["CutEntry"][];
            /** @description What was asked for. */
            generation: components["schemas"]["GenerationType"];
            /**
             * Format: int32
             * @description Tokens of the whole prompt.
             */
            prompt_tokens: number;
            took?: components["schemas"]["Took"] | null;
            /** @description The turn. */
            turn: components["schemas"]["TurnId"];
            /**
             * Format: int32
             * @description Tokens of the beginning that the prompt of the turn before on the list had too.
             */
            unchanged_tokens?: number | null;
            /** @description Texts woven in. */
            woven: number;
            /** @description Tokens woven in. */
            woven_tokens: components["schemas"]["Tokens"];
        };
        /**
         * Format: int64
         * @description A turn's number within its chat, in order of commit.
         */
        TurnId: number;
        /**
         * @description Who of a group speaks next.
         * @enum {string}
         */
        TurnOrder: "natural" | "list" | "manual";
        /** @description What two turns did differently. */
        TurnsDiff: {
            /** @description The turn that is compared. */
            from: components["schemas"]["TurnId"];
            lore?: components["schemas"]["TurnChange"] | null;
            /** @description What changed in the prompt, as lines. */
            prompt: components["schemas"]["LineChange"][];
            /** @description The turn it is compared with. */
            to: components["schemas"]["TurnId"];
            /** @description What the second prompt shares with the first. */
            unchanged_messages: number;
        };
        /** @description The figures of turns, and what went on without lore meanwhile. */
        TurnsPage: {
            /**
             * @description Requests that went on without lore, of all chats: from the first of these turns on, or
             *     from `from` on, until the first of the next page. They are no turns. The last 1000 since
             *     the server was started are known.
             */
            fail_opens: components["schemas"]["FailOpen"][];
            /** @description The turns. */
            items: components["schemas"]["TurnFigures"][];
            /** @description Asks for the next page; none after the last. */
            next?: string | null;
            /** @description How many the whole list has. */
            total: number;
        };
        /** @description A line of the list of turns. */
        TurnSummary: {
            /** @description The node it was computed on. */
            at: components["schemas"]["PrefixHash"];
            /** @description When. */
            created: components["schemas"]["Timestamp"];
            /** @description What was asked for. */
            generation: components["schemas"]["GenerationType"];
            /** @description The turn. */
            id: components["schemas"]["TurnId"];
            reply?: components["schemas"]["PrefixHash"] | null;
            /** @description Whether its prompt, injections and verdicts were given up to save space. */
            trimmed?: boolean;
            /** @description Whether it was taken back: it is part of no state. */
            undone?: boolean;
        };
        /** @description A turn. */
        TurnView: {
            /** @description How the pools used their budgets. */
            budgets: components["schemas"]["BudgetUse"][];
            cache?: components["schemas"]["KeptPrefix"] | null;
            /** @description Who speaks in the story so far: whose turn it could have been, as `speaker` of a preview. */
            cast: string[];
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /** @description Verdicts by class, of all entries. */
            counts: components["schemas"]["Counts"];
            /** @description What differs, in words. */
            differences: string[];
            /** @description What the decision was based on. */
            facts: components["schemas"]["TurnFacts"];
            /** @description Old messages that memory put back into the prompt, and what found each. */
            recalled: components["schemas"]["RecalledMessage"][];
            /** @description The reply, once it is there. */
            reply?: string | null;
            /**
             * @description Whether deciding it again gives the same bytes; `None` if its books or circumstances
             *     were not kept.
             */
            reproduced?: boolean | null;
            room?: components["schemas"]["RoomUse"] | null;
            /** @description What was woven in, carried on or cut. */
            threads: components["schemas"]["Thread"][];
            took?: components["schemas"]["Took"] | null;
            /** @description Its line in the list of turns. */
            turn: components["schemas"]["TurnSummary"];
            /** @description Things a person should know. */
            warnings: components["schemas"]["Warning"][];
        };
        /** @description What a prompt shares with the one before. */
        Unchanged: {
            /** @description The first byte that differs inside its text. */
            byte: number;
            /** @description What the first change is. */
            cause: components["schemas"]["Cause"];
            /** @description The message of the first change, counted from 0. */
            message: number;
            /** @description The woven text that the first change falls into, by its span's id. */
            span?: number | null;
            /**
             * Format: int32
             * @description Tokens of the unchanged beginning.
             */
            tokens: number;
        };
        /** @description A write to take back. */
        Undo: {
            /** @description The `undo` that the write was answered with. */
            undo: string;
        };
        /** @description A write that was taken back. */
        Undone: {
            /** @description Does it again, as `POST /undo` takes it. */
            undo: string;
        };
        /** @description A setting of another program that means nothing here. */
        UnmappedSetting: {
            /** @description Its name there. */
            name: string;
            /** @description The program. */
            program: string;
        };
        /** @description What became of a file. */
        Uploaded: {
            /** @description What the book is attached to. */
            bindings: components["schemas"]["Binding"][];
            /** @description Whether it is a character's card. */
            card: boolean;
            /** @description The rules the book runs by. */
            dialect: components["schemas"]["Dialect"];
            /** @description How many entries it has. */
            entries: number;
            /** @description What the file was. */
            format: string;
            item?: components["schemas"]["BookView"] | null;
            /** @description What a card says that a book has no place for. */
            losses: components["schemas"]["Loss"][];
            /** @description What was odd, repaired or left out. */
            notes: components["schemas"]["ImportNote"][];
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description The same in words. */
            rules: components["schemas"]["BookRules"];
            /** @description Takes the import back; none for a dry run. */
            undo?: string | null;
        };
        /** @description How the server was started with a slot. */
        UsualSlot: {
            /**
             * Format: int32
             * @description What it may take, in tokens.
             */
            budget?: number | null;
            /**
             * Format: int32
             * @description How deep, inside the chat.
             */
            depth: number;
            /** @description Its place. */
            position: string;
            /** @description The role of its message. */
            role: components["schemas"]["Role"];
        };
        /** @description All vaults. */
        VaultsView: {
            /** @description The vaults, in the order that they are woven from. */
            items: components["schemas"]["VaultView"][];
        };
        /** @description A vault. */
        VaultView: {
            /** @description The setting that would admit notes, where it has some and none is lore. */
            advice?: string | null;
            /**
             * Format: int64
             * @description How many seconds ago it was read, for who may administer the server.
             */
            age_seconds?: number | null;
            /** @description How many notes it has in all, for who may administer the server. */
            files?: number | null;
            /** @description Its name; empty where there is only one. */
            name: string;
            /** @description How many notes are lore. */
            notes: number;
            /** @description Its folder or address, for who may administer the server. */
            place?: string | null;
            /** @description What could not be read then, for who may administer the server. */
            problems: string[];
            /** @description Whether it was registered here; the others were named at start. */
            registered: boolean;
            /**
             * Format: int64
             * @description Tokens of all their texts.
             */
            tokens: number;
        };
        /** @description What was decided about one entry. */
        Verdict: {
            /** @description The entry's book. */
            book: components["schemas"]["BookId"];
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
            kept_place?: components["schemas"]["KeptPlace"] | null;
            /** @description The decision. */
            outcome: components["schemas"]["Outcome"];
            /** @description Whether its book takes part only because nobody is known to speak. */
            speaker_unknown?: boolean;
            /** @description What people call it. */
            title: string;
        };
        /**
         * @description What kind of verdict it is.
         * @enum {string}
         */
        VerdictClass: "woven" | "lingering" | "cut" | "near" | "rule" | "no_match";
        /** @description What was decided about an entry. */
        VerdictRow: {
            /** @description Its book or vault. */
            book: components["schemas"]["BookId"];
            /** @description The class. */
            class: components["schemas"]["VerdictClass"];
            /** @description The deciding rule: `activated` or the rule that stopped it. */
            code: string;
            /** @description The entry. */
            entry: components["schemas"]["EntryId"];
            kept_place?: components["schemas"]["KeptPlace"] | null;
            /** @description The decision with its parameters. */
            outcome: components["schemas"]["Outcome"];
            /** @description The decision in English. */
            sentence: string;
            /** @description What people call it. */
            title: string;
            tokens?: components["schemas"]["Tokens"] | null;
        };
        /** @description Verdicts of a turn. */
        VerdictsView: components["schemas"]["Page_VerdictRow"] & {
            /** @description Verdicts by class, of all entries that fit `q`. */
            counts: components["schemas"]["Counts"];
        };
        /**
         * @description What can be asked for at once.
         * @enum {string}
         */
        Wanted: "summary" | "canon" | "profile" | "check" | "repair" | "extract" | "long_term" | "session" | "arcs" | "ledger";
        /** @description Something a person should know about a turn. */
        Warning: {
            /** @enum {string} */
            code: "key_too_slow";
            /** @description Why it was given up. */
            cost: components["schemas"]["KeyCost"];
            /** @description The entry's title. */
            entry: string;
            /** @description The key. */
            key: string;
        } | {
            /** @enum {string} */
            code: "key_unusable";
            /** @description The entry's title. */
            entry: string;
            /** @description The key. */
            key: string;
        } | {
            /** @enum {string} */
            code: "decorator";
            /** @description The entry's title. */
            entry: string;
            /** @description The line. */
            line: string;
            /** @description Why. */
            problem: components["schemas"]["DecoratorProblem"];
        } | {
            /** @enum {string} */
            code: "already_there";
            /** @description Where the text comes from. */
            source: components["schemas"]["Provenance"];
        } | {
            /** @enum {string} */
            code: "old_notes";
            /** @description Why it could not be read. */
            reason: string;
            /**
             * Format: int64
             * @description How long ago it was read, in seconds; `None` if it never was.
             */
            seconds?: number | null;
            /** @description The vault. */
            vault: string;
        } | {
            /** @enum {string} */
            code: "without_lore";
            /** @description Why. */
            reason: string;
        } | {
            /** @enum {string} */
            code: "nobody_speaks";
            /** @description Where the text comes from. */
            source: components["schemas"]["Provenance"];
        } | {
            /** @description How. */
            by: components["schemas"]["Hygiene"];
            /** @enum {string} */
            code: "neutralised";
            /** @description What was found, by kind. */
            found: components["schemas"]["HazardCount"][];
            /** @description Where the text comes from. */
            source: components["schemas"]["Provenance"];
        } | {
            /** @enum {string} */
            code: "key_not_a_regex";
            /** @description The entry's title. */
            entry: string;
            /** @description The key. */
            key: string;
        };
        /** @description A turn to be woven. */
        WeaveBody: {
            card?: components["schemas"]["CardTexts"] | null;
            /** @description The character who speaks next. */
            character?: string | null;
            /**
             * @description The name that character filters compare with: SillyTavern's avatar file without its
             *     extension. The character's name without it.
             */
            character_file?: string | null;
            /** @description The character's tags, for filters by tag. */
            character_tags?: string[] | null;
            /** @description The chat; made if it is not there and `dry_run` is false. */
            chat: string;
            /**
             * Format: int32
             * @description The model's context size.
             */
            context?: number | null;
            /** @description Decide, but store nothing. True without it. */
            dry_run?: boolean;
            /** @description What is asked for. */
            generation?: components["schemas"]["GenerationType"];
            /** @description The group, in a chat of several characters. */
            group?: string | null;
            /**
             * Format: int32
             * @description The longest reply, in tokens: so much of the context is kept free.
             */
            max_tokens?: number | null;
            /** @description What is said after that. */
            messages?: components["schemas"]["Said"][];
            /** @description The model it is for: chooses connection and tokenizer. */
            model?: string | null;
            /**
             * @description The front end puts the texts into its prompt and sends that next: the proxy does not weave
             *     it again, and regex scripts are the front end's. A turn that is stored counts as such.
             */
            placed?: boolean;
            /** @description The prompt to sew the lore into; without it the story's own messages. */
            prompt?: components["schemas"]["Said"][] | null;
            /**
             * @description Answer as soon as the texts are known: without `prompt`, and before the turn is stored.
             *     `GET /generations/{id}` gives the turn then.
             */
            quick?: boolean;
            /**
             * Format: int64
             * @description The seed of all rolls.
             */
            seed?: number | null;
            /** @description The node that the turn follows; the chat's tip by default, and all zeros for the beginning. */
            tip?: string | null;
            /** @description The user's name. */
            user?: string | null;
        };
        /** @description A memory that is kept from a character. */
        Withheld: {
            /** @description Its text. */
            content: string;
            /** @description What it is. */
            tier: components["schemas"]["WithheldTier"];
        };
        /**
         * @description What kind of memory is kept from a character.
         * @enum {string}
         */
        WithheldTier: "memory" | "scene" | "arc";
        /** @description A woven turn. */
        WovenView: {
            /** @description How the pools used their budgets. */
            budgets: components["schemas"]["BudgetUse"][];
            /** @description The chat. */
            chat: components["schemas"]["ChatId"];
            /**
             * Format: int64
             * @description The number of the request that the front end sends next, for `GET /generations/{id}`;
             *     none for a dry run.
             */
            generation?: number | null;
            /** @description The story's node that was woven for. */
            node: components["schemas"]["PrefixHash"];
            prompt?: components["schemas"]["PromptMap"] | null;
            room?: components["schemas"]["RoomUse"] | null;
            /** @description The texts by place and role. */
            slots: components["schemas"]["Slot"][];
            /** @description What was woven in, carried on or cut. */
            threads: components["schemas"]["Thread"][];
            turn?: components["schemas"]["TurnId"] | null;
            /** @description Takes the turn back; none for a dry run or a `quick` call. */
            undo?: string | null;
            /** @description Things a person should know. */
            warnings: components["schemas"]["Warning"][];
        };
        /** @description Entries in their wrappers. */
        WrappedEntries: {
            /** @description The texts, in the order they came. */
            texts: string[];
        };
        /** @description A line of the list of writes. */
        WriteSummary: {
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /** @description Who wrote. */
            author: components["schemas"]["Author"];
            chat?: components["schemas"]["ChatId"] | null;
            /** @description Its name. */
            id: components["schemas"]["MemoryWriteId"];
            /** @description What it was for. */
            note: string;
            /** @description Whose memory it changed. */
            owners: components["schemas"]["Owner"][];
        };
        /** @description What a write gives back. */
        Wrote_AllSettings: {
            /** @description All settings. */
            item: {
                /** @description Whether stories are remembered. */
                memory: boolean;
                /**
                 * Format: int64
                 * @description The revision of the stored documents.
                 */
                revision: number;
                /** @description Every setting, by section. */
                rows: components["schemas"]["SettingRow"][];
                /** @description The rules of the engine that work now, as previews take them. */
                rules: Record<string, never>;
                /**
                 * @description How the slots of memory go into prompts, from lasting to immediate; none if nothing is
                 *     remembered.
                 */
                slots: components["schemas"]["SlotView"][];
                /** @description The tokenizer that counts. */
                tokenizer: string;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_BookView: {
            /** @description A book. */
            item: {
                /** @description What it is attached to; nothing if it is only stored. */
                bindings: components["schemas"]["Binding"][];
                /** @description What it says about itself. */
                description: string;
                /** @description The rules it runs by. */
                dialect: components["schemas"]["Dialect"];
                /** @description How many entries it has. */
                entries: number;
                /** @description Its folders. */
                folders: components["schemas"]["FolderView"][];
                /** @description The format of its file. */
                format?: string | null;
                /** @description Its id. */
                id: components["schemas"]["BookId"];
                /** @description Its name. */
                name: string;
                /** @description Whether its entries activate others, if the book sets it. */
                recursive?: boolean | null;
                /**
                 * Format: int64
                 * @description The revision that last changed it; none for books named at start.
                 */
                revision?: number | null;
                /** @description The same in words. */
                rules: components["schemas"]["BookRules"];
                /**
                 * Format: int32
                 * @description How many messages its entries scan, if the book sets it.
                 */
                scan_depth?: number | null;
                /** @description Where it is from. */
                source: components["schemas"]["BookSource"];
                /**
                 * Format: int32
                 * @description Its own budget, if the book sets it.
                 */
                token_budget?: number | null;
                version?: components["schemas"]["BookVersion"] | null;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_CharacterView: {
            /** @description A character. */
            item: {
                book?: components["schemas"]["BookId"] | null;
                /** @description The card, with all fields. */
                card: components["schemas"]["Card"];
                /** @description The format of the file it came from; none if it was made here. */
                format?: string | null;
                /** @description Its id. */
                id: string;
                portrait?: components["schemas"]["FileVersion"] | null;
                /**
                 * Format: int64
                 * @description The revision that last changed it.
                 */
                revision: number;
                /** @description The name it speaks under: its nickname, or its name. */
                speaks_as: string;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_ChatView: {
            /** @description A chat. */
            item: {
                /** @description Whether it is put away. */
                archived: boolean;
                /** @description When it was made, in milliseconds since 1970. */
                created: components["schemas"]["Timestamp"];
                /** @description Its id. */
                id: components["schemas"]["ChatId"];
                /**
                 * Format: int64
                 * @description Messages on the current path.
                 */
                messages: number;
                /** @description Words to find it by. */
                tags: string[];
                /** @description The node the story is at; all zeros before the first message. */
                tip: components["schemas"]["PrefixHash"];
                /** @description Its name. */
                title: string;
                /**
                 * Format: int64
                 * @description Turns of all branches.
                 */
                turns: number;
                /** @description When it last changed. */
                updated: components["schemas"]["Timestamp"];
                /**
                 * Format: int64
                 * @description Grows with every write.
                 */
                version: number;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_ConnectionsView: {
            /** @description All connections. */
            item: {
                /** @description The connections, those of the configuration first. */
                items: components["schemas"]["ConnectionView"][];
                /** @description Whether the caller can set connections up here. */
                settable: boolean;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_DeletedChat: {
            /** @description A chat that was deleted. */
            item: {
                /** @description Its id. */
                id: components["schemas"]["ChatId"];
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_EntryView: {
            /** @description An entry with everything it says. */
            item: components["schemas"]["EntryRow"] & {
                /** @description The text. */
                content: string;
                dialect?: components["schemas"]["Dialect"] | null;
                entry?: components["schemas"]["Entry"] | null;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_GroupView: {
            /** @description A group. */
            item: {
                /** @description Its id. */
                id: string;
                /** @description The ids of its characters. */
                members: string[];
                /** @description Members who do not speak unless they are chosen. */
                muted: string[];
                /** @description The name. Books that are attached to a group go by it. */
                name: string;
                /** @description Who speaks next. */
                order: components["schemas"]["TurnOrder"];
                /**
                 * Format: int64
                 * @description The revision that last changed it.
                 */
                revision: number;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_NoteView: {
            /** @description The file of a note. */
            item: {
                /** @description The note's id. */
                id: components["schemas"]["EntryId"];
                /** @description The file inside its vault. */
                path: string;
                /** @description All that the file says. */
                text: string;
                /** @description Whether it can be changed here. */
                writable: boolean;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_PersonasView: {
            /** @description All personas. */
            item: {
                /** @description The personas, by name. */
                items: components["schemas"]["PersonaView"][];
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_PersonaView: {
            /** @description A persona. */
            item: {
                /** @description Who that is. */
                description: string;
                /** @description Its id. */
                id: string;
                /** @description The name: `{{user}}`. Books that are attached to a persona go by it. */
                name: string;
                portrait?: components["schemas"]["FileVersion"] | null;
                /**
                 * Format: int64
                 * @description The revision that last changed it.
                 */
                revision: number;
                /** @description A line for lists. */
                title: string;
                /** @description Whether new stories use it. */
                usual: boolean;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_PresetView: {
            /** @description A preset. */
            item: {
                /** @description How a model writes with it. If it names a model, it chooses that, too. */
                choice: components["schemas"]["ModelChoice"];
                /** @description Its id. */
                id: string;
                /** @description Its name. */
                name: string;
                /**
                 * Format: int64
                 * @description The revision that last changed it.
                 */
                revision: number;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_Removed: {
            /** @description Something that was removed. */
            item: {
                /** @description Its id. */
                id: string;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_RemovedBook: {
            /** @description A book that was taken out. */
            item: {
                /** @description Its id. */
                id: components["schemas"]["BookId"];
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_RoutesView: {
            /** @description Which request goes where, and which connection does what. */
            item: {
                /** @description What works now. */
                effective: components["schemas"]["EffectiveRoutes"];
                /** @description The features that are being switched: an embedder embeds all lore first. */
                pending: string[];
                /** @description Why what was set here does not work. */
                problems: string[];
                /** @description What was set here; where it says nothing, the configuration does. */
                set: components["schemas"]["Routing"];
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_SetupView: {
            /** @description The setup of a story and what follows from it. */
            item: {
                /** @description Whether somebody set it. A story of another front end has none. */
                is_set: boolean;
                /** @description The id of the character who speaks next. */
                next?: string | null;
                persona?: components["schemas"]["PlayerView"] | null;
                /** @description The characters. */
                players: components["schemas"]["PlayerView"][];
                /** @description Where the next turn goes. */
                routed: components["schemas"]["RoutedModel"];
                /** @description What was set, or what fits the messages. */
                setup: components["schemas"]["KeptStory"];
                /** @description The user's name. */
                user: string;
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_StorySettings: {
            /** @description The settings of one character or one chat. */
            item: {
                /**
                 * Format: int64
                 * @description The revision of the stored documents.
                 */
                revision: number;
                /** @description Every setting that can be set there, with the value that counts there. */
                rows: components["schemas"]["SettingRow"][];
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /** @description What a write gives back. */
        Wrote_VaultsView: {
            /** @description All vaults. */
            item: {
                /** @description The vaults, in the order that they are woven from. */
                items: components["schemas"]["VaultView"][];
            };
            /**
             * Format: int64
             * @description The revision of the documents after it.
             */
            revision: number;
            /** @description Takes the write back, as `POST /undo` takes it; none if nothing changed. */
            undo?: string | null;
        };
        /**
         * @description The zone of a text.
         * @enum {string}
         */
        Zone: "head" | "ledger" | "tail" | "marked";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
